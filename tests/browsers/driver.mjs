/**
 * Drive one real browser with lines of JSON: `node driver.mjs firefox|webkit`.
 *
 * Reads {do, ...} from each line of its input and writes {ok} or {error}. Firefox runs through
 * WebDriver BiDi with puppeteer-core, WebKitGTK's MiniBrowser through Debian's WebKitWebDriver on
 * an xvfb display.
 */

import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { createInterface } from "node:readline";

import puppeteer from "puppeteer-core";

const WINDOW = { width: 1280, height: 800 };

async function firefox() {
  const browser = await puppeteer.launch({
    browser: "firefox", executablePath: "/usr/bin/firefox-esr", headless: true, timeout: 90_000,
  });
  const page = await browser.newPage();
  await page.setViewport(WINDOW);
  const { mouse, keyboard } = page;
  return {
    version: () => browser.version(),
    goto: ({ url }) => page.goto(url).then(() => null),
    back: () => page.goBack().then(() => null),
    js: ({ source, args }) => page.evaluate(`(${source})(...${JSON.stringify(args)})`),
    async mouse({ steps }) {
      for (const { move, press } of steps) {
        if (move) await mouse.move(...move);
        else await (press ? mouse.down() : mouse.up());
      }
    },
    async keys({ keys }) {
      const held = keys.slice(0, -1);
      for (const key of held) await keyboard.down(key);
      await keyboard.press(keys.at(-1));
      for (const key of held.reverse()) await keyboard.up(key);
    },
    close: () => browser.close(),
  };
}

// WebDriver's codes of keys.
const KEYS = {
  Enter: "\uE007", Shift: "\uE008", Control: "\uE009", Escape: "\uE00C", Space: " ", Tab: "\uE004",
  End: "\uE010", Home: "\uE011", ArrowLeft: "\uE012", ArrowUp: "\uE013", ArrowRight: "\uE014",
  ArrowDown: "\uE015", Delete: "\uE017",
};

async function webkit() {
  const library = "/usr/lib/x86_64-linux-gnu";
  const folder = readdirSync(library).filter((name) => name.startsWith("webkit2gtk-4")).sort().at(-1);
  const port = 20_000 + (process.pid % 10_000);
  const driver = spawn("xvfb-run", ["-a", "WebKitWebDriver", `--port=${port}`], {
    stdio: "ignore", detached: true, env: { ...process.env, LIBGL_ALWAYS_SOFTWARE: "1" },
  });
  process.on("exit", () => process.kill(-driver.pid));
  const call = async (method, path, body) => {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, { method, body: body && JSON.stringify(body) });
    const { value } = await reply.json();
    if (!reply.ok) throw new Error(JSON.stringify(value));
    return value;
  };
  for (let tries = 0; ; tries += 1) {
    try {
      await call("GET", "/status");
      break;
    } catch (error) {
      if (tries > 120) throw error;
      await new Promise((later) => { setTimeout(later, 250); });
    }
  }
  const binary = `${library}/${folder}/MiniBrowser`;
  const options = { browserName: "MiniBrowser", "webkitgtk:browserOptions": { binary, args: ["--automation"] } };
  const opened = await call("POST", "/session", { capabilities: { alwaysMatch: options } });
  const session = `/session/${opened.sessionId}`;
  await call("POST", `${session}/window/rect`, WINDOW);
  const act = (type, id, actions) =>
    call("POST", `${session}/actions`, {
      actions: [{ type, id, actions, ...(type === "pointer" && { parameters: { pointerType: "mouse" } }) }],
    });
  return {
    version: () => `MiniBrowser ${opened.capabilities.browserVersion}`,
    goto: ({ url }) => call("POST", `${session}/url`, { url }),
    back: () => call("POST", `${session}/back`, {}),
    js: ({ source, args }) =>
      call("POST", `${session}/execute/sync`, { script: `return (${source})(...arguments)`, args }),
    mouse: ({ steps }) =>
      act("pointer", "mouse", steps.map(({ move, press }) =>
        move
          ? { type: "pointerMove", duration: 20, x: Math.round(move[0]), y: Math.round(move[1]), origin: "viewport" }
          : { type: press ? "pointerDown" : "pointerUp", button: 0 })),
    keys: ({ keys }) => {
      const values = keys.map((key) => KEYS[key] ?? key);
      return act("key", "keyboard", [
        ...values.map((value) => ({ type: "keyDown", value })),
        ...values.reverse().map((value) => ({ type: "keyUp", value })),
      ]);
    },
    close: () => call("DELETE", session),
  };
}

const browser = await { firefox, webkit }[process.argv[2]]();
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  try {
    console.log(JSON.stringify({ ok: (await browser[order.do](order)) ?? null }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error) }));
  }
}
await browser.close();
process.exit(0);

/** How the time worked and what it earned are written: pure, without the page. */

/** Minutes, with hours from the first on. @param {number} seconds */
export function timeInWords(seconds) {
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/**
 * What so many seconds earn at that rate per hour, rounded down to cents like the ledger; paid time
 * ends at `most` seconds.
 * @param {number} seconds
 * @param {number} rate
 * @param {number} [most]
 */
export function earnedInWords(seconds, rate, most = Infinity) {
  const cents = Math.floor((rate * Math.min(seconds, most)) / 36);
  return (cents / 100).toFixed(2);
}

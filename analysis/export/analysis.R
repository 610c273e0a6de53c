# A linear mixed model of each task, from the CSVs in this folder:
#
#   score ~ factor(shots) + (1 | annotator) + (1 | context / example)
#
# score is S1 of an answer to a test example by an annotator in the analysis (in_analysis = 1).
# Annotators and contexts are random, so estimates generalise to other people and other texts. If
# each example has a separate context, (1 | context / example) is (1 | example). Degrees of freedom
# are Satterthwaite's.
#
# Requires R with lme4 and lmerTest (Debian: r-base-core r-cran-lme4 r-cran-lmertest). Run
#
#   Rscript analysis.R [person|simulated|model]
#
# In a cross-task study, whose arms differ in the preceding training, the model is
#
#   score ~ factor(arm) + (1 | annotator) + (1 | context / example)
#
# with the arms of annotators.csv (direct, sham, upstream), at each number of shots if the study
# has several. No mean combines two arms or two numbers of shots. Annotators without contexts (arm
# question) are left out.
#
# The script prints a table and writes mixed_model.csv: the mean at each number of shots (or arm)
# and all pairwise differences, from 0 to 1, with 95 % intervals. Three annotators per group do not
# support a more complex model. p values are not corrected for multiple comparisons.

suppressPackageStartupMessages(library(lmerTest))

kind <- commandArgs(trailingOnly = TRUE)
kind <- if (length(kind)) kind[1] else "person"
read <- function(file) {
  read.csv(file, na.strings = "", encoding = "UTF-8", colClasses = "character")
}

answers <- read("answers.csv")
counts <- answers$kind == kind & answers$in_analysis == "1" & answers$step == "annotation"
answers <- answers[counts & !is.na(answers$s1), ]
examples <- read("examples.csv")
examples <- examples[examples$file_kind == "test", ]
if (!nrow(answers)) stop("no annotator of this kind has completed the study and is in the analysis")
annotators <- read("annotators.csv")
answers$arm <- annotators$arm[match(answers$annotator, annotators$annotator)]
answers <- answers[is.na(answers$arm) | answers$arm != "question", ]
crosses_tasks <- !all(is.na(answers$arm))
unit <- if (crosses_tasks) "arm" else "shots"
if (crosses_tasks) {
  cat("Cross-task study: the model compares arms.\n")
  if (length(unique(answers$shots)) > 1) {
    answers$arm <- paste(answers$arm, answers$shots)
    unit <- "shots"
  }
}

# The row of a linear combination of cell means: estimate, SE, df, interval and p.
combination <- function(model, weights) {
  found <- contest1D(model, weights)
  estimate <- found[["Estimate"]]
  reach <- qt(0.975, found[["df"]]) * found[["Std. Error"]]
  data.frame(
    estimate = estimate, se = found[["Std. Error"]], df = found[["df"]],
    low_95 = estimate - reach, high_95 = estimate + reach, p = found[["Pr(>|t|)"]]
  )
}

one_task <- function(task) {
  own <- answers[answers$task == task, ]
  texts <- examples[examples$task == task, ]
  # What people of this task differ by: the cells of the model.
  by <- if (crosses_tasks) own$arm else as.integer(own$shots)
  cells <- sort(unique(by))
  data <- data.frame(
    score = as.numeric(own$s1),
    cell = factor(by, levels = cells),
    annotator = factor(own$annotator),
    example = factor(own$hash),
    context = factor(texts$segments[match(own$hash, texts$hash)])
  )
  nested <- nlevels(data$context) < nlevels(data$example)
  random <- if (nested) "(1 | annotator) + (1 | context / example)" else
    "(1 | annotator) + (1 | example)"
  # Without an intercept the coefficients are the means of the cells; the model is the same.
  fixed <- if (length(cells) > 1) "score ~ 0 + cell" else "score ~ 1"
  model <- lmer(as.formula(paste(fixed, "+", random)), data = data)
  weights <- diag(length(cells))
  names <- paste(cells, unit)
  if (length(cells) > 1) {
    for (pair in combn(length(cells), 2, simplify = FALSE)) {
      difference <- rep(0, length(cells))
      difference[pair] <- c(-1, 1)
      weights <- rbind(weights, difference)
      names <- c(names, paste(cells[pair[2]], "-", cells[pair[1]], unit))
    }
  }
  rows <- lapply(seq_along(names), function(i) combination(model, weights[i, ]))
  rows <- cbind(data.frame(task = task, what = names), do.call(rbind, rows))
  rows$p[seq_along(cells)] <- NA # a mean is not tested against 0
  spread <- as.data.frame(VarCorr(model))
  rows$singular <- isSingular(model)
  for (group in c("annotator", "context", "example:context", "example", "Residual")) {
    name <- paste0("sd_", gsub("[^a-z]", "_", tolower(group)))
    own_sd <- spread$sdcor[spread$grp == group]
    rows[[name]] <- if (length(own_sd)) own_sd else NA
  }
  rows
}

tasks <- unique(answers$task)
table <- do.call(rbind, lapply(tasks, one_task))
write.csv(table, "mixed_model.csv", row.names = FALSE, na = "")
shown <- table
numbers <- vapply(shown, is.numeric, logical(1))
shown[numbers] <- lapply(shown[numbers], signif, 4)
print(shown, row.names = FALSE)

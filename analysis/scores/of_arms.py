"""Tables of *Statistics* that need no job, in the order of the page."""

from analysis.scores.anchors import ANCHORS
from analysis.scores.attrition import ADMISSION, ATTRITION
from analysis.scores.confidence import CALIBRATION, CONFIDENCE
from analysis.scores.training import PLATEAU

TABLES = (ANCHORS, CONFIDENCE, CALIBRATION, PLATEAU, ATTRITION, ADMISSION)

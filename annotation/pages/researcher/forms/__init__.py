"""The forms of the researcher's pages, a module for each subject.

A form cleans and converts what was sent; the rules stand in the step functions that the views call
next, and what these refuse is shown at the form's field.
"""

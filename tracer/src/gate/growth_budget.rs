//! Budgets on the law of growth: `slope <= 0.01`, `limit_at >= 2000`.

use std::fmt;

use serde::Serialize;

use super::scale::Growth;

/// What a budget is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    /// Descriptors per unit.
    Slope,
    /// Least number at which the limit is passed.
    LimitAt,
}

/// One budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrowthBudget {
    figure: Figure,
    bound: f64,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kept {
    /// Kept.
    Pass,
    /// Exceeded.
    Fail,
    /// The points do not tell.
    Inconclusive,
}

/// Why a text is no budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// It has not three words.
    #[error("`{0}` is no budget: write `slope <= 0.01` or `limit_at >= 2000`")]
    Shape(String),
    /// There is no such figure.
    #[error("`{0}` is nothing that a budget can be about here: `slope` and `limit_at` are")]
    Figure(String),
    /// It does not go with this figure.
    #[error("`{figure}` takes `{wanted}`, not `{got}`")]
    Operator {
        /// The figure.
        figure: &'static str,
        /// The one that it takes.
        wanted: &'static str,
        /// What was written.
        got: String,
    },
    /// It is no number.
    #[error("`{0}` is no number")]
    Number(String),
}

impl Figure {
    const fn name(self) -> &'static str {
        match self {
            Self::Slope => "slope",
            Self::LimitAt => "limit_at",
        }
    }

    const fn operator(self) -> &'static str {
        match self {
            Self::Slope => "<=",
            Self::LimitAt => ">=",
        }
    }
}

impl GrowthBudget {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with the text, and what would be right.
    pub fn parse(text: &str) -> Result<Self, BudgetError> {
        let shape = || BudgetError::Shape(text.to_owned());
        let at = text.find(['<', '>', '=', '!']).ok_or_else(shape)?;
        let (name, rest) = text.split_at(at);
        let length = rest.find(|c| !"<>=!".contains(c)).ok_or_else(shape)?;
        let (operator, number) = rest.split_at(length);
        let name = name.trim();
        let figures = [Figure::Slope, Figure::LimitAt];
        let figure = figures.into_iter().find(|figure| figure.name() == name);
        let figure = figure.ok_or_else(|| BudgetError::Figure(name.to_owned()))?;
        if operator != figure.operator() {
            let got = operator.to_owned();
            return Err(BudgetError::Operator { figure: figure.name(), wanted: figure.operator(), got });
        }
        let number = number.trim();
        let bound = number.parse().ok().filter(|bound: &f64| bound.is_finite());
        Ok(Self { figure, bound: bound.ok_or_else(|| BudgetError::Number(number.to_owned()))? })
    }

    /// What becomes of it. A slope's whole interval must be on one side.
    #[must_use]
    pub fn judge(&self, growth: &Growth) -> Kept {
        let Some(fit) = growth.fit else { return Kept::Inconclusive };
        match self.figure {
            Figure::Slope => {
                let (low, high) = (fit.slope_low.unwrap_or(fit.slope), fit.slope_high.unwrap_or(fit.slope));
                if high <= self.bound {
                    Kept::Pass
                } else if low > self.bound {
                    Kept::Fail
                } else {
                    Kept::Inconclusive
                }
            }
            Figure::LimitAt => match (growth.limit_at.or(growth.refused_at), growth.law) {
                (Some(at), _) if (at as f64) < self.bound => Kept::Fail,
                (Some(_), _) | (None, super::scale::Law::Bounded) => Kept::Pass,
                (None, _) => Kept::Inconclusive,
            },
        }
    }
}

impl fmt::Display for GrowthBudget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} {}", self.figure.name(), self.figure.operator(), self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::scale::{Fit, Law};

    fn growth(slope: f64, half: f64, limit_at: Option<u64>) -> Growth {
        let interval = (Some(slope - half), Some(slope + half));
        let (slope_low, slope_high) = interval;
        let fit = Fit { points: 4, slope, slope_low, slope_high, intercept: 8.0, worst: 0.0 };
        let law = if limit_at.is_some() { Law::Proportional } else { Law::Bounded };
        Growth { fit: Some(fit), law, limit_at, soft_limit: Some(1024), refused_at: None }
    }

    #[test]
    fn a_slope_is_judged_by_its_whole_interval() {
        let budget = GrowthBudget::parse("slope <= 0.01").unwrap();
        assert_eq!(budget.judge(&growth(1.0, 0.0, Some(1017))), Kept::Fail);
        assert_eq!(budget.judge(&growth(0.0, 0.0, None)), Kept::Pass);
        assert_eq!(budget.judge(&growth(0.0, 0.5, None)), Kept::Inconclusive);
        assert_eq!(budget.to_string(), "slope <= 0.01");
    }

    #[test]
    fn the_limit_may_not_come_too_early() {
        let budget = GrowthBudget::parse("limit_at>=1017").unwrap();
        assert_eq!(budget.judge(&growth(1.0, 0.0, Some(1016))), Kept::Fail);
        assert_eq!(budget.judge(&growth(1.0, 0.0, Some(1017))), Kept::Pass);
        assert_eq!(budget.judge(&growth(0.0, 0.0, None)), Kept::Pass);
    }

    #[test]
    fn what_is_no_budget_is_told_with_what_would_be() {
        let error = |text| GrowthBudget::parse(text).unwrap_err().to_string();
        assert!(error("slope").contains("write `slope <= 0.01`") && error("slope <=").contains("write"));
        assert!(error("slpoe <= 1").contains("`slpoe`"));
        assert!(error("slope >= 1").contains("takes `<=`"));
        assert!(error("slope <= few").contains("`few` is no number") && error("slope <= inf").contains("no number"));
    }
}

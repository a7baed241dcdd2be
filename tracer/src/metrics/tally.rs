//! What servers and pushes count of themselves.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use super::scrape::More;

macro_rules! tally {
    ($($field:ident = $name:literal $labels:expr, $doc:literal;)*) => {
        #[derive(Debug, Default)]
        struct Counts {
            $($field: AtomicU64,)*
        }

        /// Counts of one agent's servers and pushes; shared by its threads.
        #[derive(Clone, Debug, Default)]
        pub struct Tally(Arc<Counts>);

        impl Tally {
            $(
                #[doc = concat!("Adds to ", $doc, ".")]
                pub fn $field(&self, count: u64) {
                    self.0.$field.fetch_add(count, Relaxed);
                }
            )*

            /// All of them, as figures of the table.
            #[must_use]
            pub fn figures(&self) -> Vec<More> {
                vec![$(figure($name, &$labels, self.0.$field.load(Relaxed)),)*]
            }
        }
    };
}

tally! {
    scraped = "fdtide_scrapes_total" ["ok"], "requests that were answered with metrics";
    scrape_refused = "fdtide_scrapes_total" ["refused"], "requests that were turned away";
    metrics_pushed = "fdtide_otlp_pushes_total" ["metrics", "ok"], "pushes of metrics that arrived";
    metrics_failed = "fdtide_otlp_pushes_total" ["metrics", "failed"], "pushes of metrics that failed and are made again";
    metrics_given_up = "fdtide_otlp_pushes_total" ["metrics", "given up"], "pushes of metrics that the collector would not have";
    logs_pushed = "fdtide_otlp_pushes_total" ["logs", "ok"], "pushes of events that arrived";
    logs_failed = "fdtide_otlp_pushes_total" ["logs", "failed"], "pushes of events that failed and are made again";
    logs_given_up = "fdtide_otlp_pushes_total" ["logs", "given up"], "pushes of events that the collector would not have";
    no_room = "fdtide_otlp_dropped_events_total" ["no room"], "events that found no room to wait";
    refused = "fdtide_otlp_dropped_events_total" ["refused"], "events that the collector would not have";
}

fn figure(name: &'static str, labels: &[&str], value: u64) -> More {
    More { name, labels: labels.iter().map(|label| (*label).to_owned()).collect(), value: value as f64 }
}

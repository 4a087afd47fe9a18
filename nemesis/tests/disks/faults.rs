//! The harness's side: each fault in, measured, and out.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clusters::{Event, Policy, Remainder, Signal};

use crate::night::{LONG, Night, ONE, TWO, n, t};
use crate::scribe::{PAGE, bad};

/// From SIGKILL, or the cut, until a node that hangs in its disk is gone.
const REAPED: Duration = Duration::from_secs(2);

pub fn run(folder: &Path) -> ExitCode {
    ground::sys::set_name("ackall-harness");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut night = Night::new(folder).await;
        for node in [ONE, TWO] {
            night.well(node);
        }
        night.calls_fail().await;
        night.a_sync_fails_once().await;
        night.syncs_lie().await;
        night.a_disk_is_full().await;
        night.calls_are_slow().await;
        night.calls_hang().await;
        night.a_hanging_node_is_reaped().await;
        night.bits_flip().await;
        night.ends_are_missing().await;
        night.a_disk_is_replaced().await;
        night.a_disk_is_rolled_back().await;
        night.the_power_goes_at_a_call().await;
        night.the_program_is_killed_at_a_call().await;
        night.faults_overlap().await;
        night.what_cannot_take_is_said().await;
        night.nothing_was_trouble();
    });
    ExitCode::SUCCESS
}

impl Night {
    async fn calls_fail(&mut self) {
        // All writes to one of two log folders.
        let said = [("calls", t("write")), ("path", t("topic-0"))];
        let order = self.order("disk-error", &[ONE], &said);
        let measured = self.inject("disk-error", &order).await.unwrap();
        assert!(measured["failed_calls"] >= 1.0 && measured["met_calls"] == measured["failed_calls"]);
        self.until(ONE, "EIO in one folder", |before, now| {
            now[0].eio > before[0].eio + 3 && now[1].synced > before[1].synced + 3
        });
        let told = self.told(ONE);
        assert_eq!(
            (told[1].eio, told[1].unreadable),
            (0, 0),
            "the other folder is well: {told:?}"
        );
        let healed = self.heal("disk-error", &order).await.unwrap();
        assert!(healed["failed_calls"] >= 4.0);
        self.well(ONE);
        // Two syncs, and no more.
        let said = [("calls", t("sync")), ("times", n(2.0)), ("error", t("no-space"))];
        let order = self.order("disk-error", &[ONE], &said);
        let before = self.told(ONE);
        self.inject("disk-error", &order).await.unwrap();
        self.until(ONE, "a good life after two failures", |before, now| {
            now.iter()
                .zip(before)
                .all(|(now, before)| now.synced > before.synced + 5)
        });
        let now = self.told(ONE);
        let failed: u64 = now
            .iter()
            .zip(&before)
            .map(|(now, before)| now.enospc - before.enospc)
            .sum();
        assert_eq!(failed, 2);
        let healed = self.heal("disk-error", &order).await.unwrap();
        assert_eq!(healed["failed_calls"], 2.0);
        // Reads, though the page cache has it all.
        let order = self.order("disk-error", &[ONE], &[("calls", t("read"))]);
        self.inject("disk-error", &order).await.unwrap();
        self.until(ONE, "unreadable file", |before, now| {
            now[0].unreadable > before[0].unreadable
        });
        self.heal("disk-error", &order).await.unwrap();
        self.well(ONE);
    }

    async fn a_sync_fails_once(&mut self) {
        let order = self.order("disk-sync-fails-once", &[ONE], &[("path", t("topic-1"))]);
        let before = self.told(ONE);
        let measured = self.inject("disk-sync-fails-once", &order).await.unwrap();
        assert_eq!(
            (measured["failed_calls"], measured["gone_bytes"]),
            (1.0, PAGE as f64)
        );
        self.well(ONE);
        let now = self.told(ONE);
        assert_eq!(now[1].eio - before[1].eio, 1);
        let healed = self.heal("disk-sync-fails-once", &order).await.unwrap();
        assert_eq!(healed["failed_calls"], 1.0);
        self.well(ONE);
        let file = self.log(ONE, 1);
        let pages = file.metadata().unwrap().len() / PAGE - 1;
        assert_eq!(bad(&file, pages).unwrap(), 0, "the page cache has it");
        // The power shows it: all was said to be synced since.
        let cuts = self
            .cluster
            .power_off(&[ONE], 1000, Remainder::Everything.into())
            .unwrap();
        assert_eq!(cuts[0].loss.bytes, PAGE, "{cuts:?}");
        assert!(bad(&self.log(ONE, 1), pages).unwrap() > 0);
        let pages = self.log(ONE, 0).metadata().unwrap().len() / PAGE - 1;
        assert_eq!(bad(&self.log(ONE, 0), pages).unwrap(), 0);
        // Our program would find it bad for ever.
        std::fs::remove_file(self.log_path(ONE, 1)).unwrap();
        self.back(ONE);
        self.well(ONE);
    }

    fn back(&self, node: i32) {
        self.cluster.power_on(node).unwrap();
        self.cluster.start(node).unwrap();
    }

    /// Pages that the host would find after a cut, of the first folder.
    fn pages(&self, node: i32) -> u64 {
        std::fs::metadata(self.log_path(node, 0)).map_or(0, |meta| meta.len()) / PAGE
    }

    async fn syncs_lie(&mut self) {
        let order = self.order("disk-sync-lies", &[ONE], &[]);
        self.inject("disk-sync-lies", &order).await.unwrap();
        self.until(ONE, "syncs", |before, now| now[0].synced > before[0].synced + 10);
        let before = self.pages(ONE);
        self.cluster.power_off(&[ONE], 1001, Policy::default()).unwrap();
        let left = self.pages(ONE);
        assert!(left + 10 <= before, "{left} of {before}");
        self.back(ONE);
        self.until(ONE, "syncs", |before, now| now[0].synced > before[0].synced + 10);
        let healed = self.heal("disk-sync-lies", &order).await.unwrap();
        assert!(healed["lied_calls"] >= 20.0, "it outlives the power: {healed:?}");
        self.well(ONE);
        let synced = self.pages(ONE) - 2;
        self.cluster.power_off(&[ONE], 1002, Policy::default()).unwrap();
        assert!(
            self.pages(ONE) >= synced,
            "what is synced after the heal is there"
        );
        self.back(ONE);
        self.well(ONE);
    }

    async fn a_disk_is_full(&mut self) {
        let order = self.order("disk-full", &[ONE], &[]);
        let measured = self.inject("disk-full", &order).await.unwrap();
        assert!(measured["failed_calls"] >= 1.0 && measured["room_bytes"] == 0.0);
        self.until(ONE, "ENOSPC and reads", |before, now| {
            let full = now[0].enospc > before[0].enospc + 3 && now[0].synced == before[0].synced;
            full && now[0].looks > before[0].looks + 3
        });
        self.heal("disk-full", &order).await.unwrap();
        self.well(ONE);
        // Room for 40 pages, in one folder.
        let said = [
            ("room_mib", n(40.0 * PAGE as f64 / 1_048_576.0)),
            ("path", t("topic-0")),
        ];
        let order = self.order("disk-full", &[ONE], &said);
        let before = self.told(ONE);
        self.inject("disk-full", &order).await.unwrap();
        self.until(ONE, "ENOSPC", |_, now| now[0].enospc > before[0].enospc);
        let now = self.told(ONE);
        let synced = now[0].synced - before[0].synced;
        // One may have been under way.
        assert!((39..=41).contains(&synced), "{synced}");
        assert_eq!(now[1].enospc, before[1].enospc);
        let healed = self.heal("disk-full", &order).await.unwrap();
        assert!(healed["failed_calls"] >= 1.0 && healed["room_bytes"] == 0.0);
        self.well(ONE);
    }

    async fn calls_are_slow(&mut self) {
        let said = [("delay_ms", n(20.0)), ("calls", t("sync"))];
        let order = self.order("disk-slow", &[ONE], &said);
        let measured = self.inject("disk-slow", &order).await.unwrap();
        assert!((20.0..40.0).contains(&measured["mean_delay_ms"]), "{measured:?}");
        self.until(ONE, "slow rounds", |before, now| {
            now[0].synced > before[0].synced + 5
        });
        let slowest = self.slowest(ONE, 0);
        assert!((20_000..40_000).contains(&slowest), "{slowest}");
        let healed = self.heal("disk-slow", &order).await.unwrap();
        assert!((20.0..24.0).contains(&healed["mean_delay_ms"]), "{healed:?}");
        assert!(healed["delayed_calls"] >= 5.0);
        self.well(ONE);
        self.until(ONE, "quick rounds", |_, now| now[0].slowest_us < 20_000);
        for (spread, mean, longest) in [("uniform", 5.0, 10.0), ("exponential", 5.0, 10_000.0)] {
            let said = [
                ("delay_ms", n(5.0)),
                ("spread", t(spread)),
                ("calls", t("write-and-sync")),
            ];
            let order = self.order("disk-slow", &[ONE], &said);
            self.inject("disk-slow", &order).await.unwrap();
            self.until(ONE, "a hundred syncs", |before, now| {
                now[0].synced > before[0].synced + 100
            });
            let healed = self.heal("disk-slow", &order).await.unwrap();
            // Some 400 draws: a tenth of the mean is two deviations, and each is late by a little.
            let (is, most) = (healed["mean_delay_ms"], healed["longest_delay_ms"]);
            assert!((mean * 0.75..mean * 2.0).contains(&is), "{spread}: {healed:?}");
            // A busy machine may be late.
            assert!(most < longest + 100.0, "{spread}: {healed:?}");
            assert!(spread == "uniform" || most > 12.0, "it has a tail: {healed:?}");
        }
        self.well(ONE);
    }

    async fn calls_hang(&mut self) {
        let order = self.order("disk-hang", &[ONE], &[("path", t("topic-0"))]);
        let measured = self.inject("disk-hang", &order).await.unwrap();
        assert_eq!(measured["held_calls"], 1.0);
        self.until(ONE, "life in the other folder alone", |before, now| {
            now[1].synced > before[1].synced + 10 && now[0].synced == before[0].synced
        });
        let healed = self.heal("disk-hang", &order).await.unwrap();
        assert_eq!(healed["waiting_calls"], 1.0);
        self.well(ONE);
    }

    async fn a_hanging_node_is_reaped(&mut self) {
        for cut in [false, true] {
            let order = self.order("disk-hang", &[ONE], &[("calls", t("all"))]);
            self.inject("disk-hang", &order).await.unwrap();
            let before = self.told(ONE);
            std::thread::sleep(Duration::from_millis(50));
            let now = self.told(ONE);
            let synced = |told: &[crate::scribe::Told]| told.iter().map(|one| one.synced).sum::<u64>();
            assert!(synced(&now) <= synced(&before) + 2, "it hangs");
            let began = Instant::now();
            if cut {
                let cuts = self.cluster.power_off(&[ONE], 1003, Policy::default()).unwrap();
                let took = Duration::from_nanos(cuts[0].dead_at_ns - cuts[0].cut_at_ns);
                assert!(took < REAPED, "{took:?}");
            } else {
                // An error, where not every process was seen gone.
                self.cluster.signal(ONE, Signal::Kill).unwrap();
                self.await_end(ONE).await;
            }
            println!("reaped, cut {cut}: {:?}", began.elapsed());
            assert!(began.elapsed() < REAPED, "{:?}", began.elapsed());
            // Whoever ended it starts it again.
            self.heal("disk-hang", &order).await.unwrap();
            assert!(!self.cluster.runs(ONE));
            if cut {
                self.cluster.power_on(ONE).unwrap();
            }
            self.cluster.start(ONE).unwrap();
            self.well(ONE);
        }
    }

    async fn await_end(&mut self, wanted: i32) {
        let end = async {
            loop {
                if let Event::ProgramEnded { node, .. } = self.events.recv().await.unwrap()
                    && node == wanted
                {
                    return;
                }
            }
        };
        tokio::time::timeout(LONG, end).await.unwrap();
    }

    async fn bits_flip(&mut self) {
        let said = [("chunks_percent", n(100.0)), ("path", t("topic-0/*.log"))];
        let order = self.order("disk-corrupt", &[ONE, TWO], &said);
        let measured = self.inject("disk-corrupt", &order).await.unwrap();
        assert!(measured["damaged_bytes"] >= 64.0 && measured["damaged_files"] == 2.0);
        let chunk = 512;
        for (index, node) in [ONE, TWO].into_iter().enumerate() {
            let now = self.until(node, "bad bytes", |before, now| {
                now[0].bad > 0 && now[0].looks > before[0].looks + 2
            });
            assert_eq!(now[1].bad, 0);
            let bytes = std::fs::read(self.log_path(node, 0)).unwrap();
            let pages = bytes.chunks_exact(PAGE as usize).enumerate();
            let mut struck = pages.flat_map(|(number, is)| {
                let was = crate::scribe::page(number as u64);
                let wrong = (0..is.len()).filter(move |at| is[*at] != was[*at]);
                wrong
                    .map(move |at| number * PAGE as usize + at)
                    .collect::<Vec<_>>()
            });
            assert!(struck.all(|at| at / chunk % 2 == index), "stripes are disjoint");
        }
        let healed = self.heal("disk-corrupt", &order).await.unwrap();
        assert!(healed["mended_bytes"] >= 32.0 && healed["let_be_bytes"] == 0.0);
        for node in [ONE, TWO] {
            self.well(node);
        }
    }

    async fn ends_are_missing(&mut self) {
        // A file that nobody writes to: what is written to is let be.
        let idle = self.home(ONE).join("disk/formatted");
        let said = [("path", t("formatted")), ("dropped_bytes", n(2.0))];
        let order = self.order("disk-truncate", &[ONE], &said);
        let measured = self.inject("disk-truncate", &order).await.unwrap();
        assert_eq!((measured["damaged_bytes"], measured["damaged_files"]), (2.0, 1.0));
        assert_eq!(std::fs::read(&idle).unwrap(), b"y");
        self.well(ONE);
        let healed = self.heal("disk-truncate", &order).await.unwrap();
        assert_eq!((healed["mended_bytes"], healed["let_be_bytes"]), (2.0, 0.0));
        assert_eq!(std::fs::read(&idle).unwrap(), b"yes");
        self.well(ONE);
        let order = self.order(
            "disk-truncate",
            &[ONE],
            &[("files", n(2.0)), ("dropped_bytes", n(PAGE as f64))],
        );
        let measured = self.inject("disk-truncate", &order).await.unwrap();
        assert_eq!(
            (measured["damaged_bytes"], measured["damaged_files"]),
            (2.0 * PAGE as f64, 2.0)
        );
        self.well(ONE);
        let healed = self.heal("disk-truncate", &order).await.unwrap();
        assert_eq!(
            (healed["mended_bytes"], healed["let_be_bytes"]),
            (0.0, 2.0 * PAGE as f64)
        );
        self.well(ONE);
        // One file of one name, shared out by it: one of two nodes misses its end.
        let said = [("path", t("formatted")), ("dropped_bytes", n(1.0))];
        let order = self.order("disk-truncate", &[ONE, TWO], &said);
        let measured = self.inject("disk-truncate", &order).await.unwrap();
        assert_eq!((measured["damaged_bytes"], measured["damaged_files"]), (1.0, 1.0));
        self.heal("disk-truncate", &order).await.unwrap();
        for node in [ONE, TWO] {
            self.well(node);
        }
    }

    async fn a_disk_is_replaced(&mut self) {
        for put_back in [false, true] {
            let said: &[_] = if put_back {
                &[("afterwards", t("put-back"))]
            } else {
                &[]
            };
            let order = self.order("disk-replace", &[ONE], said);
            let before = self.pages(ONE);
            let measured = self.inject("disk-replace", &order).await.unwrap();
            assert!(measured["replaced_bytes"] >= (before * PAGE) as f64 && measured["found_bytes"] == 0.0);
            assert!(self.pages(ONE) < before, "it has begun anew");
            self.well(ONE);
            let healed = self.heal("disk-replace", &order).await.unwrap();
            let images = self.home(ONE).join("images").join(order.id.to_string());
            assert!(!images.exists(), "what was put aside is gone");
            assert_eq!(self.pages(ONE) >= before, put_back, "{healed:?}");
            self.well(ONE);
        }
    }

    async fn a_disk_is_rolled_back(&mut self) {
        let pages = |bytes: f64| bytes / PAGE as f64;
        for (taken, afterwards) in [("running", "keep"), ("stopped", "put-back")] {
            self.until(ONE, "pages", |before, now| now[0].synced > before[0].synced + 20);
            let said = [
                ("age_ms", n(500.0)),
                ("taken", t(taken)),
                ("afterwards", t(afterwards)),
            ];
            let order = self.order("disk-roll-back", &[ONE], &said);
            let measured = self.inject("disk-roll-back", &order).await.unwrap();
            let (old, found) = (measured["replaced_bytes"], measured["found_bytes"]);
            assert!(found > 0.0 && pages(old - found) >= 10.0, "{measured:?}");
            self.well(ONE);
            self.heal("disk-roll-back", &order).await.unwrap();
            if afterwards == "put-back" {
                let both = self.pages(ONE) + self.log(ONE, 1).metadata().unwrap().len() / PAGE;
                assert!(both as f64 >= pages(old) - 2.0, "{both}");
            }
            assert!(!self.home(ONE).join("images").join(order.id.to_string()).exists());
            self.well(ONE);
        }
    }

    async fn the_power_goes_at_a_call(&mut self) {
        for moment in ["before", "after"] {
            let said = [
                ("calls", t("sync")),
                ("path", t("topic-0")),
                ("call_number", n(7.0)),
                ("moment", t(moment)),
            ];
            let order = self.order("disk-cut-at-call", &[ONE], &said);
            let before = self.told(ONE);
            let measured = self.inject("disk-cut-at-call", &order).await.unwrap();
            assert_eq!(measured["met_calls"], 7.0);
            assert!(measured["dead_ms"] < 2_000.0 && measured["silent_ms"] <= measured["dead_ms"]);
            assert!(!self.cluster.runs(ONE));
            // Its first synced pages are there, the seventh only where its sync was done.
            let pages = self.pages(ONE);
            assert!(pages >= before[0].synced, "{pages}");
            assert!(
                measured["lost_bytes"] >= if moment == "before" { PAGE as f64 } else { 0.0 },
                "{measured:?}"
            );
            self.heal("disk-cut-at-call", &order).await.unwrap();
            self.well(ONE);
        }
    }

    async fn the_program_is_killed_at_a_call(&mut self) {
        let said = [("calls", t("write")), ("call_number", n(3.0))];
        let order = self.order("disk-kill-at-call", &[ONE, TWO], &said);
        let measured = self.inject("disk-kill-at-call", &order).await.unwrap();
        assert_eq!(measured["met_calls"], 3.0);
        assert!(measured["dead_ms"] < 2_000.0);
        assert!(!self.cluster.runs(ONE) && !self.cluster.runs(TWO));
        self.heal("disk-kill-at-call", &order).await.unwrap();
        for node in [ONE, TWO] {
            self.well(node);
        }
    }

    /// Healing one leaves the others in.
    async fn faults_overlap(&mut self) {
        let slow = self.order(
            "disk-slow",
            &[ONE],
            &[("calls", t("sync")), ("delay_ms", n(15.0))],
        );
        let slower = self.order(
            "disk-slow",
            &[ONE],
            &[("calls", t("sync")), ("delay_ms", n(25.0))],
        );
        let fails = self.order(
            "disk-error",
            &[ONE],
            &[("calls", t("write")), ("path", t("topic-0"))],
        );
        for (name, order) in [
            ("disk-slow", &slow),
            ("disk-slow", &slower),
            ("disk-error", &fails),
        ] {
            self.inject(name, order).await.unwrap();
        }
        self.told(ONE);
        let now = self.until(ONE, "both", |before, now| {
            now[0].eio > before[0].eio && now[1].synced > before[1].synced + 2
        });
        assert_eq!(now[1].eio, 0);
        assert!(self.slowest(ONE, 1) >= 40_000);
        self.heal("disk-slow", &slow).await.unwrap();
        let slowest = self.slowest(ONE, 1);
        assert!((25_000..40_000).contains(&slowest), "{slowest}");
        self.until(ONE, "EIO still", |before, now| now[0].eio > before[0].eio);
        self.heal("disk-error", &fails).await.unwrap();
        let slowest = self.slowest(ONE, 0);
        assert!(slowest >= 25_000, "{slowest}");
        self.heal("disk-slow", &slower).await.unwrap();
        self.well(ONE);
    }

    /// Of three whole rounds, the median: a busy machine is late now and then.
    fn slowest(&self, node: i32, folder: usize) -> u64 {
        let mut rounds: Vec<u64> = (0..5)
            .map(|_| {
                self.until(node, "a round", |before, now| {
                    now[folder].looks > before[folder].looks + 1
                });
                let before = self.told(node)[folder].looks;
                let now = self.until(node, "a round", |_, now| {
                    now[folder].looks > before && now[folder].slowest_us > 0
                });
                now[folder].slowest_us
            })
            .collect();
        rounds.sort_unstable();
        rounds[2]
    }

    async fn what_cannot_take_is_said(&mut self) {
        let order = self.order("disk-corrupt", &[ONE], &[("path", t("nowhere"))]);
        let error = self.inject("disk-corrupt", &order).await.unwrap_err().to_string();
        assert!(error.contains("nowhere"), "{error}");
        assert!(
            self.cluster.disk_rule_counts(ONE, order.id).is_err(),
            "nothing is left of it"
        );
        let order = self.order("disk-error", &[ONE], &[("path", t("../x"))]);
        let error = self.inject("disk-error", &order).await.unwrap_err().to_string();
        assert!(error.contains("below the mount"), "{error}");
        self.well(ONE);
    }

    /// What was asked for was never taken for the host's own trouble, and no program fell over.
    fn nothing_was_trouble(&mut self) {
        loop {
            match self.events.try_recv() {
                Ok(Event::DiskFull { node, why }) => panic!("node {node}: {why}"),
                Ok(_) => {}
                Err(tokio::sync::broadcast::error::TryRecvError::Lagged(missed)) => {
                    panic!("{missed} events missed")
                }
                Err(_) => break,
            }
        }
        assert_eq!(self.cluster.trouble(), []);
    }
}

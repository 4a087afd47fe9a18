//! Histories, written as one would tell them. One topic, `night`; one partition unless said otherwise; each entry
//! is a millisecond after the one before.

use history::*;
use std::collections::BTreeMap;

pub const TOPIC: &str = "night";
const MILLISECOND: u64 = 1_000_000;

/// A history in the making.
pub struct Run {
    pub header: Header,
    pub entries: Vec<Entry>,
    pub state: PartitionState,
    step: u64,
    client: u64,
    fault: u64,
    starts: BTreeMap<i32, u32>,
    batch: i64,
    /// The leader epoch in which each value was sent.
    written: BTreeMap<u64, i32>,
}

pub fn header(promises: &[Promise]) -> Header {
    Header {
        schema: SCHEMA,
        ackall_version: "0.1.0".into(),
        started_at: "2026-01-01T00:00:00Z".into(),
        scenario: "test".into(),
        seed: 1,
        system: "reference".into(),
        promises: promises.to_vec(),
        requirements: Vec::new(),
        topics: vec![TopicPlan {
            name: TOPIC.into(),
            partitions: 1,
            replication_factor: 3,
            min_insync_replicas: 2,
            log_start_may_move: false,
        }],
        features: BTreeMap::new(),
        server: None,
    }
}

pub fn key() -> Key {
    Key {
        topic: TOPIC.into(),
        id: "id".into(),
        partition: 0,
    }
}

impl Run {
    /// Nothing but a header: no broker, no metadata.
    pub fn bare() -> Run {
        let state = PartitionState {
            key: key(),
            replicas: vec![0, 1, 2],
            isr: vec![],
            elr: vec![],
            last_known_elr: vec![],
            leader: -1,
            leader_epoch: 0,
            partition_epoch: 0,
            recovering: false,
            elects: false,
            at: LogPlace::of(0, 0),
        };
        Run {
            header: header(&[Promise::Kip966]),
            entries: vec![],
            state,
            step: MILLISECOND,
            client: 0,
            fault: 0,
            starts: BTreeMap::new(),
            batch: 0,
            written: BTreeMap::new(),
        }
    }

    /// So many brokers up and registered, no partition yet.
    pub fn brokers(count: i32, min_isr: i32) -> Run {
        let mut run = Run::bare();
        run.header.topics[0].min_insync_replicas = min_isr;
        run.state.replicas = (0..count).collect();
        for broker in 0..count {
            run.start(broker);
            run.register(broker);
        }
        run
    }

    /// The same with the partition created: broker 0 leads, all are in sync.
    pub fn new(replicas: i32, min_isr: i32) -> Run {
        let mut run = Run::brokers(replicas, min_isr);
        let all: Vec<i32> = (0..replicas).collect();
        run.partition(&all, &[], 0);
        run
    }

    pub fn history(&self) -> History {
        History {
            header: self.header.clone(),
            entries: self.entries.clone(),
            dropped: None,
        }
    }

    pub fn verdict(&self) -> checker::Verdict {
        checker::check(&self.history())
    }

    pub fn now(&self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.time)
    }

    /// Nothing happens for a while.
    pub fn pass(&mut self, time: u64) {
        let step = std::mem::replace(&mut self.step, time);
        self.step("a while", true);
        self.step = step;
    }

    /// The entries that follow are at the time of the last one.
    pub fn at_once(&mut self, what: impl FnOnce(&mut Run)) {
        let step = std::mem::replace(&mut self.step, 0);
        what(self);
        self.step = step;
    }

    pub fn add(&mut self, process: Process, kind: Kind, body: Body) -> u64 {
        let index = self.entries.len() as u64;
        self.entries.push(Entry {
            index,
            time: self.now() + self.step,
            process,
            kind,
            body,
        });
        index
    }

    pub fn seen(&mut self, body: Body) -> u64 {
        self.add(Process::Observer, Kind::Ok, body)
    }

    pub fn next_place(&mut self) -> LogPlace {
        self.batch += 1;
        LogPlace::of(self.batch, self.batch)
    }

    // Metadata.

    /// A committed record sets ISR, ELR and leader.
    pub fn partition(&mut self, isr: &[i32], elr: &[i32], leader: i32) -> u64 {
        let at = self.next_place();
        self.partition_at(isr, elr, leader, at)
    }

    pub fn partition_at(&mut self, isr: &[i32], elr: &[i32], leader: i32, at: LogPlace) -> u64 {
        let elects = leader != self.state.leader;
        self.state.leader_epoch += i32::from(elects);
        self.state.partition_epoch += 1;
        (self.state.isr, self.state.elr, self.state.leader) = (isr.to_vec(), elr.to_vec(), leader);
        (self.state.elects, self.state.at) = (elects, at);
        self.seen(Body::Partition(self.state.clone()))
    }

    /// A stretch of the metadata log was not seen; the state after it.
    pub fn gap(&mut self, isr: &[i32], elr: &[i32], leader: i32) -> u64 {
        self.gap_only();
        let at = LogPlace::after_gap(self.batch + 1);
        self.partition_at(isr, elr, leader, at)
    }

    /// The same, with nothing otherwise after it.
    pub fn gap_only(&mut self) -> u64 {
        let from = self.batch + 1;
        self.batch += 10;
        let gap = MetadataGap {
            from,
            to: self.batch + 1,
            cause: GapCause::Snapshot,
        };
        self.seen(Body::MetadataGap(gap))
    }

    /// A record of the metadata log was passed over.
    pub fn unread(&mut self, hides: bool) -> u64 {
        let at = self.next_place();
        self.seen(Body::MetadataUnread(MetadataUnread {
            record_type: Some(5),
            version: Some(9),
            hides,
            why: "it is newer".into(),
            at,
        }))
    }

    /// Committed metadata from offset 1 on is gone.
    pub fn diverged(&mut self) -> u64 {
        self.seen(Body::MetadataDiverged(MetadataDiverged {
            leader: 101,
            quorum_epoch: 6,
            trusted_offset: 9,
            trusted_epoch: 4,
            leader_offset: 1,
            leader_epoch: 4,
            from: 1,
        }))
    }

    pub fn config(&mut self, min_isr: i32) -> u64 {
        let at = self.next_place();
        self.config_at(min_isr, at)
    }

    pub fn config_at(&mut self, min_isr: i32, at: LogPlace) -> u64 {
        let change = ConfigChange {
            resource_type: 2,
            resource: TOPIC.into(),
            name: "min.insync.replicas".into(),
            value: Some(min_isr.to_string()),
            at,
        };
        self.seen(Body::Config(change))
    }

    fn broker(&mut self, broker: i32, incarnation: String, change: BrokerChange) -> u64 {
        let at = self.next_place();
        let epoch = i64::from(self.starts.get(&broker).copied().unwrap_or_default());
        self.seen(Body::Broker(BrokerState {
            broker,
            epoch,
            incarnation,
            change,
            at,
        }))
    }

    /// RegisterBrokerRecord and unfencing of the incarnation that runs.
    pub fn register(&mut self, broker: i32) {
        self.register_only(broker);
        self.unfence(broker);
    }

    pub fn register_only(&mut self, broker: i32) {
        let incarnation = format!("{broker}.{}", self.starts[&broker]);
        self.broker(broker, incarnation, BrokerChange::Registered);
    }

    /// Another process registers as a broker, and is unfenced.
    pub fn register_as(&mut self, broker: i32, incarnation: &str, epoch: i64) {
        for change in [BrokerChange::Registered, BrokerChange::Unfenced] {
            let at = self.next_place();
            let incarnation = incarnation.into();
            self.seen(Body::Broker(BrokerState {
                broker,
                epoch,
                incarnation,
                change,
                at,
            }));
        }
    }

    pub fn unfence(&mut self, broker: i32) {
        self.broker(broker, String::new(), BrokerChange::Unfenced);
    }

    pub fn fence(&mut self, broker: i32) {
        self.broker(broker, String::new(), BrokerChange::Fenced);
    }

    pub fn unregister(&mut self, broker: i32) {
        self.broker(broker, String::new(), BrokerChange::Unregistered);
    }

    // Processes and faults.

    fn node(&mut self, node: i32, event: NodeEvent) -> u64 {
        let start = self.starts[&node];
        self.seen(Body::Node(NodeProcess { node, event, start }))
    }

    pub fn start(&mut self, node: i32) {
        self.next_start(node);
        self.started(node);
    }

    /// The process begins; no entry tells of it yet.
    pub fn next_start(&mut self, node: i32) {
        *self.starts.entry(node).or_default() += 1;
    }

    pub fn started(&mut self, node: i32) {
        self.node(node, NodeEvent::Started);
    }

    pub fn stop_asked(&mut self, node: i32) {
        self.node(node, NodeEvent::StopAsked);
    }

    pub fn exited(&mut self, node: i32, status: i32) {
        self.node(node, NodeEvent::Exited { status });
    }

    pub fn killed(&mut self, node: i32, signal: Option<i32>) {
        self.node(node, NodeEvent::Killed { signal });
    }

    pub fn fault(&mut self, kind: Kind, name: &str, action: FaultAction, node: i32) -> u64 {
        let body = Body::Fault(Fault {
            id: self.fault,
            name: name.into(),
            action,
            asked: "someone".into(),
            nodes: vec![node],
            measured: BTreeMap::new(),
            error: None,
        });
        self.add(Process::Nemesis, kind, body)
    }

    /// A fault with parameters is asked.
    pub fn begin_fault(&mut self, name: &str, params: &str, action: FaultAction, node: i32) {
        if action == FaultAction::Inject {
            self.fault += 1;
        }
        self.fault_with(Kind::Invoke, name, params, action, node);
    }

    /// It is done.
    pub fn end_fault(&mut self, name: &str, params: &str, action: FaultAction, node: i32) {
        self.fault_with(Kind::Ok, name, params, action, node);
    }

    fn fault_with(&mut self, kind: Kind, name: &str, params: &str, action: FaultAction, node: i32) {
        self.fault(kind, name, action, node);
        if let Some(Body::Fault(fault)) = self.entries.last_mut().map(|entry| &mut entry.body) {
            fault.asked = format!("someone {{{params}}}");
        }
    }

    /// A power cut that took the partition's records at these offsets.
    pub fn power_cut(&mut self, node: i32, lost: std::ops::Range<i64>) {
        self.fault += 1;
        self.fault(Kind::Invoke, "power-cut", FaultAction::Inject, node);
        self.killed(node, None);
        self.fault(Kind::Ok, "power-cut", FaultAction::Inject, node);
        self.disk(node, lost);
    }

    /// A node is asked to stop, and loses its power before it has.
    pub fn power_cut_stopping(&mut self, node: i32, lost: std::ops::Range<i64>) {
        const NAME: &str = "power-cut-stopping";
        self.fault += 1;
        self.fault(Kind::Invoke, NAME, FaultAction::Inject, node);
        self.stop_asked(node);
        self.killed(node, None);
        self.fault(Kind::Ok, NAME, FaultAction::Inject, node);
        self.disk(node, lost);
    }

    pub fn disk(&mut self, node: i32, lost: std::ops::Range<i64>) {
        let run = LostRecords {
            topic: TOPIC.into(),
            partition: 0,
            from: lost.start,
            to: lost.end,
        };
        let records = if lost.is_empty() { vec![] } else { vec![run] };
        self.seen(Body::Disk(DiskLoss {
            node,
            fault: self.fault,
            bytes: 100,
            files: 1,
            records,
        }));
    }

    pub fn crash(&mut self, node: i32) {
        self.fault += 1;
        self.fault(Kind::Invoke, "crash", FaultAction::Inject, node);
        self.killed(node, Some(9));
        self.fault(Kind::Ok, "crash", FaultAction::Inject, node);
    }

    /// Power and process are back, and the controller has the new registration.
    pub fn back(&mut self, node: i32) {
        self.start(node);
        self.register(node);
    }

    // Clients.

    pub fn invoke_send(&mut self, value: u64) -> u64 {
        self.client += 1;
        let client = self.client;
        self.written.insert(value, self.state.leader_epoch);
        self.add(
            Process::Client(client),
            Kind::Invoke,
            Body::Send(self.send_body(value, None)),
        );
        client
    }

    pub fn complete_send(&mut self, client: u64, value: u64, kind: Kind, offset: Option<i64>) -> u64 {
        self.add(
            Process::Client(client),
            kind,
            Body::Send(self.send_body(value, offset)),
        )
    }

    fn send_body(&self, value: u64, offset: Option<i64>) -> Send {
        let node = (self.state.leader >= 0).then_some(self.state.leader);
        Send {
            key: key(),
            value,
            acks: -1,
            node,
            offset,
            error: None,
        }
    }

    /// A send acknowledged at an offset.
    pub fn ack(&mut self, value: u64, offset: i64) -> u64 {
        let client = self.invoke_send(value);
        self.complete_send(client, value, Kind::Ok, Some(offset))
    }

    pub fn poll(&mut self, records: &[(i64, Option<u64>, i32)], last: bool) -> u64 {
        self.client += 1;
        let from = records.first().map_or(0, |record| record.0);
        let mut poll = Poll {
            key: key(),
            from,
            node: None,
            last,
            records: vec![],
            high_watermark: None,
            log_start: None,
            error: None,
        };
        let process = Process::Client(self.client);
        self.add(process, Kind::Invoke, Body::Poll(poll.clone()));
        poll.records = records.iter().copied().map(Record::from).collect();
        self.add(process, Kind::Ok, Body::Poll(poll))
    }

    /// A consumer reads these values from an offset on, each in the leader epoch in which it was sent.
    pub fn read(&mut self, from: i64, values: &[u64]) -> u64 {
        let records = self.records(from, values);
        self.poll(&records, false)
    }

    /// The same, of one broker.
    pub fn read_from(&mut self, node: i32, from: i64, values: &[u64]) {
        let completed = self.read(from, values);
        for entry in &mut self.entries[completed as usize - 1..] {
            if let Body::Poll(poll) = &mut entry.body {
                poll.node = Some(node);
            }
        }
    }

    fn records(&self, from: i64, values: &[u64]) -> Vec<(i64, Option<u64>, i32)> {
        let epoch = |value| {
            self.written
                .get(value)
                .copied()
                .unwrap_or(self.state.leader_epoch)
        };
        (from..)
            .zip(values)
            .map(|(offset, value)| (offset, Some(*value), epoch(value)))
            .collect()
    }

    pub fn earliest(&mut self, offset: i64) -> u64 {
        self.ends(0, 1, LogEnd::Earliest, offset)
    }

    /// A broker answers a poll without records, with a high watermark.
    pub fn marks(&mut self, node: i32, high_watermark: i64) -> u64 {
        let completed = self.poll(&[], false);
        for entry in &mut self.entries[completed as usize - 1..] {
            if let Body::Poll(poll) = &mut entry.body {
                poll.node = Some(node);
                poll.high_watermark = (entry.kind == Kind::Ok).then_some(high_watermark);
            }
        }
        completed
    }

    /// A broker says where an end of the log is, asked in a leader epoch.
    pub fn ends(&mut self, node: i32, epoch: i32, which: LogEnd, offset: i64) -> u64 {
        self.client += 1;
        let mut asked = ListOffsets {
            key: key(),
            which,
            node,
            epoch,
            offset: None,
            error: None,
        };
        let process = Process::Client(self.client);
        self.add(process, Kind::Invoke, Body::ListOffsets(asked.clone()));
        asked.offset = Some(offset);
        self.add(process, Kind::Ok, Body::ListOffsets(asked))
    }

    /// The final read finds exactly these values, from an offset on.
    pub fn final_read_from(&mut self, start: i64, values: &[u64]) -> u64 {
        let records = self.records(start, values);
        if !records.is_empty() {
            self.poll(&records, true);
        }
        self.final_summary(Some(start), Some(start + values.len() as i64), true)
    }

    pub fn final_read(&mut self, values: &[u64]) -> u64 {
        self.final_read_from(0, values)
    }

    pub fn final_summary(&mut self, start: Option<i64>, end: Option<i64>, complete: bool) -> u64 {
        let reason = (!complete).then(|| "it took too long".to_owned());
        let read = FinalRead {
            key: key(),
            start,
            end,
            complete,
            reason,
        };
        self.add(Process::Harness, Kind::Ok, Body::FinalRead(read))
    }

    pub fn step(&mut self, name: &str, reached: bool) -> u64 {
        let step = Step {
            name: name.into(),
            reached,
            text: "something".into(),
        };
        self.add(Process::Harness, Kind::Ok, Body::Step(step))
    }
}

/// How many instances of an anomaly a verdict has, inside and outside the promise.
pub fn counts(verdict: &checker::Verdict, name: &str) -> (u64, u64) {
    let of = |inside| {
        let mine = verdict
            .anomalies
            .iter()
            .find(|a| a.name == name && a.inside_promise == inside);
        mine.map_or(0, |a| a.count)
    };
    (of(true), of(false))
}

/// The names of all anomalies found, in the verdict's order.
pub fn names(verdict: &checker::Verdict) -> Vec<&str> {
    verdict.anomalies.iter().map(|anomaly| &*anomaly.name).collect()
}

/// The reasons' codes.
pub fn codes(verdict: &checker::Verdict) -> Vec<&str> {
    verdict.reasons.iter().map(|reason| &*reason.code).collect()
}

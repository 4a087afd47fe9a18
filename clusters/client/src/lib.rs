//! A client of Kafka's protocol, its table of outcomes, and the observer of the metadata log.

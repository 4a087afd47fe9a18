//! The codec of Kafka's metadata records.

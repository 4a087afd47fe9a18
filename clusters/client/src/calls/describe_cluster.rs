//! DescribeCluster: the cluster's id and its brokers, or its controllers.

use super::ANY_VERSION;
use crate::connection::Connection;
use crate::error::{Cause, Error, SentBytes};
use crate::error_code::ErrorCode;
use kafka_protocol::messages::DescribeClusterRequest;

const CALL: &str = "DescribeCluster";
/// The first version that can list fenced brokers too.
const WITH_FENCED: i16 = 2;
/// The first version that can be asked about controllers (KIP-919).
const WITH_CONTROLLERS: i16 = 1;
/// "Controllers", of the endpoints that are asked about.
const CONTROLLER_ENDPOINTS: i8 = 2;

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterDescription {
    /// NONE where the rest counts.
    pub error: ErrorCode,
    /// The cluster's id.
    pub cluster_id: String,
    /// The node that the answering one takes for the controller; −1 is none.
    pub controller: i32,
    /// The brokers, fenced ones too where the server can list them; or the controllers, where it was these
    /// that were asked about.
    pub brokers: Vec<DescribedBroker>,
}

/// A broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedBroker {
    /// Its id.
    pub node: i32,
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: i32,
    /// Whether it is fenced (false from servers that do not list fenced brokers).
    pub fenced: bool,
}

impl Connection {
    /// Asks for the cluster's id and brokers.
    ///
    /// # Errors
    /// Where there is no answer; the server's own error is in the answer.
    pub async fn describe_cluster(&mut self) -> Result<ClusterDescription, Error> {
        let version = self.version::<DescribeClusterRequest>(CALL, ANY_VERSION)?;
        let request = DescribeClusterRequest::default().with_include_fenced_brokers(version >= WITH_FENCED);
        self.described(version, &request).await
    }

    /// Asks a controller for the cluster's id and controllers (KIP-919).
    ///
    /// # Errors
    /// As [`Connection::describe_cluster`], and from a server of before KIP-919.
    pub async fn describe_controllers(&mut self) -> Result<ClusterDescription, Error> {
        let version = self.version::<DescribeClusterRequest>(CALL, ANY_VERSION)?;
        if version < WITH_CONTROLLERS {
            let cause = Cause::Unsupported {
                theirs: version.to_string(),
                ours: format!("{WITH_CONTROLLERS} and later"),
            };
            return Err(self.failed(CALL, SentBytes::No, cause));
        }
        let request = DescribeClusterRequest::default().with_endpoint_type(CONTROLLER_ENDPOINTS);
        self.described(version, &request).await
    }

    async fn described(
        &mut self,
        version: i16,
        request: &DescribeClusterRequest,
    ) -> Result<ClusterDescription, Error> {
        let answer = self.call(CALL, version, request, self.limit()).await?;
        let brokers = answer.brokers.into_iter().map(|broker| DescribedBroker {
            node: broker.broker_id.0,
            host: broker.host.to_string(),
            port: broker.port,
            fenced: broker.is_fenced,
        });
        Ok(ClusterDescription {
            error: ErrorCode(answer.error_code),
            cluster_id: answer.cluster_id.to_string(),
            controller: answer.controller_id.0,
            brokers: brokers.collect(),
        })
    }
}

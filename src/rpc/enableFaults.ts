import type { ScanProgress } from "../ports/chain.ts";
import type { EnableError } from "./ctx/coins.ts";
import type { FaultTable } from "./fault.ts";

const soFar = ({ height, target, done, total }: ScanProgress): string =>
  `its chain has been read up to block ${height} of ${target} (${total === 0 ? 100 : Math.floor((100 * done) / total)} %)`;

/** Why a coin is not enabled, whatever the method. */
export const ENABLE_FAULTS: FaultTable<EnableError> = {
  AlreadyActive: {
    http: 400,
    when: "The coin is enabled already. While its chain is still being read, the sentence says how far.",
    text: ({ coin, progress }) => `Coin ${coin} already initialized${progress === null ? "" : `; ${soFar(progress)}`}`,
  },
  BeingEnabled: {
    http: 400,
    when: "An earlier request to enable the coin has no answer yet; the sentence says how far its chain has been read.",
    text: ({ coin, progress }) => `Coin ${coin} is being enabled; ${progress === null ? "nothing has answered yet" : soFar(progress)}`,
  },
  BeingDisabled: { http: 400, when: "The coin is just being disabled.", text: ({ coin }) => `Coin ${coin} is being disabled; try again` },
  Mm2NotSet: {
    http: 400,
    when: "Neither the coins file nor the request has `mm2` for the coin.",
    text: () => "mm2 param is not set neither in coins config nor enable request, assuming that coin is not supported",
  },
  ProtocolMissing: {
    http: 400,
    when: "The coin's entry has no `protocol`, or the coins file has no such coin and the request has `mm2`.",
    text: ({ coin }) => `"protocol" field is missing in coins file. ${coin} needs an entry with one, for example {"type":"UTXO"}`,
  },
  NotSupported: {
    http: 400,
    when: "This node cannot handle the coin.",
    text: ({ coin, reason }) => `${coin} is not supported by this node: ${reason}`,
  },
  DaemonConfig: {
    http: 500,
    when: "The daemon's conf file cannot be read or lacks credentials.",
    text: ({ path, reason }) => `Error parsing the native wallet configuration '${path}': ${reason}`,
  },
  BadDaemonUrl: { http: 400, when: "`rpc_url` is no http(s) address.", text: ({ reason }) => `rpc_url: ${reason}` },
  BadAccountNodes: {
    http: 400,
    when: "Account chains: `urls` or a contract address is missing or wrong.",
    text: ({ reason }) => reason,
  },
  ChainMismatch: {
    http: 400,
    when: "Account chains: a node serves another chain, there is no swap contract at the address, or the token is not what the coins file says.",
    text: ({ coin, reason }) => `${coin} cannot be enabled: ${reason}`,
  },
  DaemonFailed: {
    http: 500,
    when: "The daemon, or every node of an account chain, gave no balance; the coin is not enabled.",
    text: ({ message }) => `Deactivated coin due to error in balance querying: ${message}`,
  },
  BadServers: {
    http: 400,
    when: "An Electrum server cannot be one, or `min_connected` and `max_connected` do not fit.",
    text: ({ reason }) => `Internal error: ${reason}`,
  },
};

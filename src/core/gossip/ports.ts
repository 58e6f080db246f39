import { err, ok, type Result } from "../util/result.ts";

export type NetidPorts = { readonly tcp: number; readonly wss: number };

export type NetidError =
  | { readonly kind: "NetidDeprecated"; readonly netid: number }
  | { readonly kind: "NetidTooLarge"; readonly netid: number; readonly max: number };

const BASE_PORT = 7783;
/** (65535 - 40 - 7783) / 4, rounded down: the last netid whose ports fit into 16 bits. */
const MAX_NETID = Math.floor((65535 - 40 - BASE_PORT) / 4);

/** 7777 is refused everywhere. 8762 was the public network until 2.6.0: only nodes of the third generation refuse it. */
const DEPRECATED: { readonly [profile: string]: readonly number[] } = { "kdf-3": [7777, 8762] };
const DEPRECATED_ELSEWHERE: readonly number[] = [7777];

/**
 * The two peer-to-peer ports of a network (p2p-wire.md 2). There is no netid on the wire: the port is all that keeps
 * two networks apart.
 *
 * @param netid   integer, 0 or more
 * @param profile name of the network profile in use; decides which netids are refused as deprecated
 */
export function netidPorts(netid: number, profile: string): Result<NetidPorts, NetidError> {
  if ((DEPRECATED[profile] ?? DEPRECATED_ELSEWHERE).includes(netid)) return err({ kind: "NetidDeprecated", netid });
  if (netid > MAX_NETID) return err({ kind: "NetidTooLarge", netid, max: MAX_NETID });
  const base = netid === 0 ? BASE_PORT : Math.floor(netid / 10) * 40 + BASE_PORT + (netid % 10);
  return ok({ tcp: base + 20, wss: base + 30 });
}

/** The reference node's own sentence for a deprecated netid; ours, with the numbers, for one that is too large. */
export function netidErrorText(error: NetidError): string {
  return error.kind === "NetidDeprecated"
    ? `Invalid netid: ${error.netid} netid is deprecated.`
    : `Invalid netid: ${error.netid} is larger than the maximum of ${error.max}.`;
}

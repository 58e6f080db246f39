import type { ElectrumServerAddress } from "../app/coin/utxoOpener.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import type { AddressFormat } from "../core/utxo/address.ts";
import { flag, optional, optionalCount, optionalFlag, type Read, readBool, readList, readString, readU32, required } from "./field.ts";
import { isJsonObject } from "./jsonNumber.ts";
import { found, MISSING, unknownVariant, wrongType } from "./serdeText.ts";

/** Parameters that the ways to enable a UTXO coin share (reference rpc.md 5.1, 5.4). */

/** Block heights are below the times of BIP-65. */
const MAX_HEIGHT = 499_999_999;
const readHeight: Read<number> = (value) => {
  const height = readU32(value);
  return height.ok && height.value > MAX_HEIGHT
    ? err(`birthday_height ${height.value} is above ${MAX_HEIGHT}, the greatest block height`)
    : height;
};
export const birthday = () =>
  optional(readHeight, { type: "integer", minimum: 0, maximum: MAX_HEIGHT }).describe(
    "Height the own index starts at when the daemon cannot search addresses.",
  );
export const txHistory = () => flag(false).describe("Answer `my_tx_history`.");

const PROTOCOLS = ["TCP", "SSL", "WS", "WSS"] as const;
const isProtocol = (value: string): value is (typeof PROTOCOLS)[number] => PROTOCOLS.some((p) => p === value);

function readProtocol(value: unknown): Result<ElectrumServerAddress["protocol"], string> {
  if (value === undefined) return ok("TCP");
  if (typeof value !== "string") return err(wrongType(value, "string or map"));
  return isProtocol(value) ? ok(value) : err(unknownVariant(value, PROTOCOLS));
}

const readServer: Read<ElectrumServerAddress> = (value) => {
  if (!isJsonObject(value)) return err(wrongType(value, "struct ElectrumConnectionSettings"));
  if (value.url === undefined) return err(`${MISSING} \`url\``);
  const url = readString(value.url);
  if (!url.ok) return url;
  const protocol = readProtocol(value.protocol);
  if (!protocol.ok) return protocol;
  const any = value.disable_cert_verification === undefined ? ok(false) : readBool(value.disable_cert_verification);
  if (!any.ok) return any;
  const timeout = value.timeout_sec === undefined || value.timeout_sec === null ? ok(undefined) : readU32(value.timeout_sec);
  if (!timeout.ok) return timeout;
  return ok({ url: url.value, protocol: protocol.value, anyCertificate: any.value, timeoutSec: timeout.value });
};

const SERVER = {
  type: "object",
  properties: {
    url: { type: "string", description: "Host and port." },
    protocol: { enum: PROTOCOLS, default: "TCP" },
    disable_cert_verification: { type: "boolean", default: false },
    timeout_sec: { type: "integer", minimum: 1 },
  },
  required: ["url"],
};
export const SERVERS = { type: "array", items: SERVER };
export const readServers = readList(readServer);
export const servers = () =>
  required(readServers, SERVERS).describe(
    "Electrum servers. Without `disable_cert_verification` a certificate that no authority vouches for is remembered at the first connection and must stay the same.",
  );

const FORMATS = ["standard", "segwit", "cashaddress"] as const;
const isFormat = (value: string): value is AddressFormat => FORMATS.some((f) => f === value);
const readAddressFormat: Read<AddressFormat> = (value) => {
  if (!isJsonObject(value)) return err(wrongType(value, "internally tagged enum UtxoAddressFormat"));
  const { format } = value;
  if (format === undefined) return err(`${MISSING} \`format\``);
  if (typeof format !== "string") return err(wrongType(format, "variant identifier"));
  return isFormat(format) ? ok(format) : err(unknownVariant(format, FORMATS));
};
const readPresence: Read<string> = (value) => ok(found(value));
/** Any value, which changes nothing. */
const unused = (why: string) => optional(readPresence, {}).describe(why);

export const mm2 = () => optional(readPresence, { type: "integer" }).describe("Stands in for `mm2` of the coins file.");

/** Those of any way to enable a UTXO coin, beside where its chain is. */
export const commonFields = () => ({
  tx_history: txHistory(),
  required_confirmations: optionalCount().describe("Default: the coins file, else 1."),
  requires_notarization: optionalFlag().describe("Default: the coins file, else false."),
  address_format: optional(readAddressFormat, {
    type: "object",
    properties: { format: { enum: FORMATS } },
    required: ["format"],
  }).describe("Own addresses in this form. Default: the coins file, else standard."),
  check_utxo_maturity: optionalFlag().describe("Taken and not needed: new coins are counted once they are mature."),
  utxo_merge_params: unused("Taken and not acted on: small outputs are joined when they are spent."),
  path_to_address: unused("Taken and not acted on: an HD wallet shows the first address of a coin."),
  scan_policy: unused("Taken and not acted on."),
  min_addresses_number: unused("Taken and not acted on."),
});

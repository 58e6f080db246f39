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
const TX_HISTORY = "Answer `my_tx_history`.";
const txHistory = () => flag(false).describe(TX_HISTORY);
/** The older methods of KDF read it by hand: null is no. */
export const flatTxHistory = () =>
  optional(readBool, { type: "boolean", default: false })
    .transform((wanted) => wanted ?? false)
    .describe(TX_HISTORY);

const PROTOCOLS = ["TCP", "SSL", "WS", "WSS"] as const;
const isProtocol = (value: string): value is (typeof PROTOCOLS)[number] => PROTOCOLS.some((p) => p === value);

function readProtocol(value: unknown): Result<ElectrumServerAddress["protocol"], string> {
  if (value === undefined) return ok("TCP");
  if (typeof value !== "string") return err(wrongType(value, "string or map"));
  return isProtocol(value) ? ok(value) : err(unknownVariant(value, PROTOCOLS));
}

/** SHA-256 of a certificate as people pass it on: hex of either case, with or without colons. */
function readFingerprint(value: unknown): Result<string | undefined, string> {
  if (value === undefined || value === null) return ok(undefined);
  const text = readString(value);
  if (!text.ok) return text;
  const hex = text.value.replaceAll(":", "").toLowerCase();
  return /^[0-9a-f]{64}$/.test(hex) ? ok(hex) : err("accept_certificate must be the SHA-256 fingerprint of a certificate, 64 hex digits");
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
  const accepted = readFingerprint(value.accept_certificate);
  if (!accepted.ok) return accepted;
  const timeout = value.timeout_sec === undefined || value.timeout_sec === null ? ok(undefined) : readU32(value.timeout_sec);
  if (!timeout.ok) return timeout;
  return ok({
    ...{ url: url.value, protocol: protocol.value, anyCertificate: any.value, timeoutSec: timeout.value },
    ...(accepted.value === undefined ? {} : { acceptCertificate: accepted.value }),
  });
};

const SERVER = {
  type: "object",
  properties: {
    url: { type: "string", description: "Host and port." },
    protocol: { enum: PROTOCOLS, default: "TCP" },
    disable_cert_verification: { type: "boolean", default: false },
    accept_certificate: {
      type: "string",
      description: "SSL and WSS, ours: this certificate is taken whatever the server showed before; its SHA-256 in hex.",
    },
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
/** Inputs of a transaction that nodes still relay: 100,000 bytes hold some 670. */
const MAX_MERGED = 500;
const MAX_CHECK_SEC = 86_400;
const MERGE_DEFAULTS = { checkEverySec: 10, maxMergeAtOnce: 100 };

/** KDF's `utxo_merge_params`; `check_every` in seconds. */
const readMerge: Read<{ readonly mergeAt: number; readonly checkEverySec: number; readonly maxMergeAtOnce: number }> = (value) => {
  if (!isJsonObject(value)) return err(wrongType(value, "struct UtxoMergeParams"));
  if (value.merge_at === undefined) return err(`${MISSING} \`merge_at\``);
  const { check_every: every = MERGE_DEFAULTS.checkEverySec, max_merge_at_once: most = MERGE_DEFAULTS.maxMergeAtOnce } = value;
  const [mergeAt, checkEverySec, maxMergeAtOnce] = [readU32(value.merge_at), readU32(every), readU32(most)];
  if (!mergeAt.ok) return mergeAt;
  if (!checkEverySec.ok) return checkEverySec;
  if (!maxMergeAtOnce.ok) return maxMergeAtOnce;
  if (mergeAt.value < 2) return err("merge_at must be 2 or more");
  if (checkEverySec.value < 1 || checkEverySec.value > MAX_CHECK_SEC) return err(`check_every must be from 1 to ${MAX_CHECK_SEC}`);
  if (maxMergeAtOnce.value < 2 || maxMergeAtOnce.value > MAX_MERGED) return err(`max_merge_at_once must be from 2 to ${MAX_MERGED}`);
  return ok({ mergeAt: mergeAt.value, checkEverySec: checkEverySec.value, maxMergeAtOnce: maxMergeAtOnce.value });
};
const MERGE = {
  type: "object",
  properties: {
    merge_at: { type: "integer", minimum: 2 },
    check_every: { type: "integer", minimum: 1, maximum: MAX_CHECK_SEC, default: MERGE_DEFAULTS.checkEverySec },
    max_merge_at_once: { type: "integer", minimum: 2, maximum: MAX_MERGED, default: MERGE_DEFAULTS.maxMergeAtOnce },
  },
  required: ["merge_at"],
};
export const utxoMergeParams = () =>
  optional(readMerge, MERGE).describe(
    "Every `check_every` seconds the smallest confirmed own outputs, at most `max_merge_at_once`, become one when there are `merge_at` or more; not while swaps are promised funds, and not for more than a fiftieth of the value.",
  );

const CHAINS = ["External", "Internal"] as const;
/** KDF's `path_to_address`: what is absent is that of the first address. */
const readHdAddress: Read<{ readonly account: number; readonly chain: 0 | 1; readonly index: number }> = (value) => {
  if (!isJsonObject(value)) return err(wrongType(value, "struct HDPathAccountToAddressId"));
  const { account_id: account = 0, chain = CHAINS[0], address_id: index = 0 } = value;
  const [accountId, addressId] = [readU32(account), readU32(index)];
  if (!accountId.ok) return accountId;
  if (!addressId.ok) return addressId;
  if (typeof chain !== "string") return err(wrongType(chain, "variant identifier"));
  if (chain !== CHAINS[0] && chain !== CHAINS[1]) return err(unknownVariant(chain, CHAINS));
  return ok({ account: accountId.value, chain: chain === CHAINS[0] ? 0 : 1, index: addressId.value });
};
const HD_ADDRESS = {
  type: "object",
  properties: {
    account_id: { type: "integer", minimum: 0, default: 0 },
    chain: { enum: CHAINS, default: CHAINS[0] },
    address_id: { type: "integer", minimum: 0, default: 0 },
  },
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
  utxo_merge_params: utxoMergeParams(),
  path_to_address: optional(readHdAddress, HD_ADDRESS).describe(
    "With an HD wallet another address than the first is refused; without one it is not acted on.",
  ),
  gap_limit: unused("Taken and not acted on."),
  scan_policy: unused("Taken and not acted on."),
  min_addresses_number: unused("Taken and not acted on."),
});

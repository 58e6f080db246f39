import { z } from "zod";
import { toDecimalString } from "../../core/money/rational.ts";
import { err, ok } from "../../core/util/result.ts";
import { Secret } from "../../core/util/secret.ts";
import type { ScanProgress } from "../../ports/chain.ts";
import type { EnableError, WalletCoin } from "../ctx/coins.ts";
import { defineMethod } from "../define.ts";
import type { FaultTable } from "../fault.ts";
import {
  flag,
  legacyCoin,
  optional,
  optionalCount,
  optionalFlag,
  optionalText,
  type Read,
  readList,
  readString,
  readU32,
} from "../field.ts";
import { decimalText } from "../money.ts";
import { found } from "../serdeText.ts";

const readSecret: Read<Secret<string>> = (value) => {
  const text = readString(value);
  // The value itself must not appear in an error.
  return text.ok ? ok(new Secret(text.value)) : err("rpc_password must be a string");
};
/** Block heights are below the times of BIP-65. */
const MAX_HEIGHT = 499_999_999;
const readHeight: Read<number> = (value) => {
  const height = readU32(value);
  return height.ok && height.value > MAX_HEIGHT
    ? err(`birthday_height ${height.value} is above ${MAX_HEIGHT}, the greatest block height`)
    : height;
};
const readPresence: Read<string> = (value) => ok(found(value));

const result = z.object({
  result: z.literal("success"),
  address: z.string(),
  balance: decimalText,
  unspendable_balance: decimalText,
  coin: z.string(),
  required_confirmations: z.number(),
  requires_notarization: z.boolean(),
  mature_confirmations: z.number().optional(),
});

const enabled = (coin: WalletCoin): z.input<typeof result> => ({
  result: "success",
  address: coin.address,
  balance: toDecimalString(coin.spendable()),
  unspendable_balance: toDecimalString(coin.unspendable()),
  coin: coin.ticker,
  required_confirmations: coin.settings.confirmations,
  requires_notarization: coin.settings.notarization,
  ...(coin.matureConfirmations === null ? {} : { mature_confirmations: coin.matureConfirmations }),
});

const soFar = ({ height, target, done, total }: ScanProgress): string =>
  `its chain has been read up to block ${height} of ${target} (${total === 0 ? 100 : Math.floor((100 * done) / total)} %)`;

type Failure = EnableError | { readonly kind: "HalfCredentials" };

const errors: FaultTable<Failure> = {
  AlreadyActive: {
    http: 400,
    when: "The coin is enabled already. While its chain is still being read, the sentence says how far.",
    text: ({ coin, progress }) => `Coin ${coin} already initialized${progress === null ? "" : `; ${soFar(progress)}`}`,
  },
  BeingEnabled: {
    http: 400,
    when: "An earlier request to enable the coin has no answer yet; the sentence says how far its chain has been read.",
    text: ({ coin, progress }) =>
      `Coin ${coin} is being enabled; ${progress === null ? "its daemon has not answered yet" : soFar(progress)}`,
  },
  BeingDisabled: { http: 400, when: "The coin is just being disabled.", text: ({ coin }) => `Coin ${coin} is being disabled; try again` },
  Mm2NotSet: {
    http: 400,
    when: "The coins file has no such coin, or neither it nor the request has `mm2`.",
    text: () => "mm2 param is not set neither in coins config nor enable request, assuming that coin is not supported",
  },
  ProtocolMissing: {
    http: 400,
    when: "The coin's entry has no `protocol`.",
    text: ({ coin }) => `"protocol" field is missing in coins file. The entry of ${coin} needs one, for example {"type":"UTXO"}`,
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
    when: "The daemon, or no node of an account chain, gave a balance; the coin is not enabled.",
    text: ({ message }) => `Deactivated coin due to error in balance querying: ${message}`,
  },
  HalfCredentials: {
    http: 400,
    when: "`rpc_user` or `rpc_password` without `rpc_url`.",
    text: () => "rpc_user and rpc_password need rpc_url beside them",
  },
};

export const enable = defineMethod<Failure>()({
  name: "enable",
  style: "flat",
  flatReply: "bare",
  summary:
    "Enable a coin. A UTXO coin through its daemon: the local one with the credentials of its conf file, or the one named by `rpc_url`. An ETH-like coin or an ERC-20 token through the nodes in `urls`; a token may do without when its platform coin is enabled.",
  source: "reference rpc.md 5.1; rpc_url, rpc_user, rpc_password, rescan and birthday_height are ours",
  params: z.object({
    coin: legacyCoin(),
    mm2: optional(readPresence, { type: "integer" }).describe("Stands in for `mm2` of the coins file."),
    required_confirmations: optionalCount().describe("Default: the coins file, else 1."),
    requires_notarization: optionalFlag().describe("Default: the coins file, else false."),
    urls: optional(readList(readString), { type: "array", items: { type: "string" } }).describe(
      "Account chains: `http(s)` or `ws(s)` addresses of nodes, up to 32.",
    ),
    swap_contract_address: optionalText().describe(
      "Account chains: the contract swaps go through. Needed unless the coin is `wallet_only`.",
    ),
    fallback_swap_contract: optionalText().describe("Account chains: one that others may still use."),
    rpc_url: optionalText().describe("http(s) address of the coin's daemon."),
    rpc_user: optionalText(),
    rpc_password: optional(readSecret, { type: "string", format: "password" }),
    rescan: flag(false).describe("Forget this node's index of the coin and read the chain anew: it was built from another daemon's chain."),
    birthday_height: optional(readHeight, { type: "integer", minimum: 0, maximum: MAX_HEIGHT }).describe(
      "Height the own index starts at when the daemon cannot search addresses.",
    ),
  }),
  result,
  async handle(p, ctx, { signal }) {
    if (p.rpc_url === undefined && (p.rpc_user !== undefined || p.rpc_password !== undefined))
      return err({ kind: "HalfCredentials" as const });
    const daemon =
      p.rpc_url === undefined ? undefined : { url: p.rpc_url, user: p.rpc_user ?? "", password: p.rpc_password ?? new Secret("") };
    const done = await ctx.coins.enable(
      {
        coin: p.coin,
        mm2: p.mm2 !== undefined,
        requiredConfirmations: p.required_confirmations,
        requiresNotarization: p.requires_notarization,
        daemon,
        birthdayHeight: p.birthday_height,
        rescan: p.rescan,
        nodes: { urls: p.urls, swapContract: p.swap_contract_address, fallbackSwapContract: p.fallback_swap_contract },
      },
      signal,
    );
    return done.ok ? ok(enabled(done.value)) : done;
  },
  errors,
  examples: [
    {
      title: "With the daemon named",
      style: "flat",
      params: { coin: "KMD", rpc_url: "http://127.0.0.1:7771", rpc_user: "user", rpc_password: "<DAEMON_PASSWORD>" },
      result: {
        result: "success",
        address: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU",
        balance: "200",
        unspendable_balance: "0",
        coin: "KMD",
        required_confirmations: 1,
        requires_notarization: false,
        mature_confirmations: 100,
      },
    },
    { title: "Enabled already", style: "flat", params: { coin: "DOC" }, error: "AlreadyActive" },
    { title: "Not in the coins file", style: "flat", params: { coin: "NOSUCH" }, error: "Mm2NotSet" },
    { title: "The local daemon has no conf file", style: "flat", params: { coin: "KMD" }, error: "DaemonConfig" },
    {
      title: "A password without an address",
      style: "flat",
      params: { coin: "KMD", rpc_password: "<DAEMON_PASSWORD>" },
      error: "HalfCredentials",
    },
  ],
});

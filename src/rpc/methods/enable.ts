import { z } from "zod";
import { err, ok } from "../../core/util/result.ts";
import { Secret } from "../../core/util/secret.ts";
import { birthday, flatTxHistory, mm2, utxoMergeParams } from "../activationFields.ts";
import type { EnableError } from "../ctx/coins.ts";
import { defineMethod } from "../define.ts";
import { enabledCoin, enabledCoinToJson, enabledForFees, enabledForFeesToJson } from "../enabledCoin.ts";
import { ENABLE_FAULTS } from "../enableFaults.ts";
import type { FaultTable } from "../fault.ts";
import { flag, legacyCoin, optional, optionalCount, optionalFlag, optionalText, type Read, readList, readString } from "../field.ts";
import { gasPolicySchema, readGasPolicy } from "../gasPolicyField.ts";

const readSecret: Read<Secret<string>> = (value) => {
  const text = readString(value);
  // The value itself must not appear in an error.
  return text.ok ? ok(new Secret(text.value)) : err("rpc_password must be a string");
};

/** Of servers a request without servers knows nothing. */
type Failure = Exclude<EnableError, { readonly kind: "BadServers" }> | { readonly kind: "HalfCredentials" };

const { BadServers: _servers, ...daemonFaults } = ENABLE_FAULTS;
const errors: FaultTable<Failure> = {
  ...daemonFaults,
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
    "Enable a coin. A UTXO coin through its daemon: the local one with the credentials of its conf file, or the one named by `rpc_url`. An ETH-like coin or an ERC-20 token through the nodes in `urls`; a token may do without when its platform coin is enabled. Qtum and QRC-20 tokens for questions about fees only (`get_trade_fee`, `min_trading_vol`): nothing is connected to, and the reply has neither address nor balance.",
  source: "reference rpc.md 5.1; rpc_url, rpc_user, rpc_password, rescan and birthday_height are ours",
  params: z.object({
    coin: legacyCoin(),
    mm2: mm2(),
    required_confirmations: optionalCount().describe("Default: the coins file, else 1."),
    requires_notarization: optionalFlag().describe("Default: the coins file, else false."),
    urls: optional(readList(readString), { type: "array", items: { type: "string" } }).describe(
      "Account chains: `http(s)` or `ws(s)` addresses of nodes, up to 32.",
    ),
    swap_contract_address: optionalText().describe(
      "Account chains: the contract swaps go through. Needed unless the coin is `wallet_only`.",
    ),
    fallback_swap_contract: optionalText().describe("Account chains: one that others may still use."),
    swap_gas_fee_policy: optional(readGasPolicy, gasPolicySchema).describe(
      "Account chains: how swaps bid for gas. Default: the coins file, else `Legacy`.",
    ),
    rpc_url: optionalText().describe("http(s) address of the coin's daemon."),
    rpc_user: optionalText(),
    rpc_password: optional(readSecret, { type: "string", format: "password" }),
    rescan: flag(false).describe("Forget this node's index of the coin and read the chain anew: it was built from another daemon's chain."),
    birthday_height: birthday(),
    tx_history: flatTxHistory(),
    utxo_merge_params: utxoMergeParams(),
  }),
  result: z.union([enabledCoin, enabledForFees]),
  async handle(p, ctx, { signal }) {
    if (p.rpc_url === undefined && (p.rpc_user !== undefined || p.rpc_password !== undefined))
      return err({ kind: "HalfCredentials" as const });
    const daemon =
      p.rpc_url === undefined ? undefined : { url: p.rpc_url, user: p.rpc_user ?? "", password: p.rpc_password ?? new Secret("") };
    const forFees = ctx.coins.forFees.enable(p.coin, p.mm2 !== undefined);
    if (forFees) return forFees.ok ? ok(enabledForFeesToJson(forFees.value)) : forFees;
    const done = await ctx.coins.enable(
      {
        coin: p.coin,
        mm2: p.mm2 !== undefined,
        requiredConfirmations: p.required_confirmations,
        requiresNotarization: p.requires_notarization,
        daemon,
        birthdayHeight: p.birthday_height,
        rescan: p.rescan,
        electrum: undefined,
        txHistory: p.tx_history,
        addressFormat: undefined,
        merge: p.utxo_merge_params,
        nodes: {
          urls: p.urls,
          swapContract: p.swap_contract_address,
          fallbackSwapContract: p.fallback_swap_contract,
          gasPolicy: p.swap_gas_fee_policy,
        },
      },
      signal,
    );
    if (done.ok) return ok(enabledCoinToJson(done.value));
    const { error } = done;
    if (error.kind === "BadServers") throw new Error("servers nobody named");
    return err(error);
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

import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { birthday, commonFields, flatTxHistory, mm2, servers } from "../activationFields.ts";
import type { EnableError } from "../ctx/coins.ts";
import { defineMethod } from "../define.ts";
import { enabledCoin, enabledCoinToJson, enabledForFees, enabledForFeesToJson } from "../enabledCoin.ts";
import { ENABLE_FAULTS } from "../enableFaults.ts";
import { flag, legacyCoin, optional, readU32 } from "../field.ts";

/** Those a coin without a daemon and without nodes can meet. */
type Failure = Exclude<EnableError, { readonly kind: "DaemonConfig" | "BadDaemonUrl" | "ChainMismatch" }>;

const { DaemonConfig: _conf, BadDaemonUrl: _url, ChainMismatch: _chain, ...errors } = ENABLE_FAULTS;

const count = () => optional(readU32, { type: "integer", minimum: 1 });

export const electrum = defineMethod<Failure>()({
  name: "electrum",
  style: "flat",
  flatReply: "bare",
  summary:
    "Enable a UTXO coin through Electrum servers. None of them is believed alone: headers and Merkle branches are checked, and what cannot be proven is asked of several. Qtum and QRC-20 tokens for questions about fees only, as with `enable`: no server is asked.",
  source: "reference rpc.md 5.1; rescan and birthday_height are ours",
  params: z.object({
    coin: legacyCoin(),
    servers: servers(),
    mm2: mm2(),
    min_connected: count().describe(
      "With fewer connected servers the coin counts as unreachable. Default: 2 where three or more hosts are named, else 1.",
    ),
    max_connected: count().describe(
      "Servers used at a time. Default: 5, or `min_connected` where that is more. The others stand in for them, and are visited while a swap is open.",
    ),
    ...commonFields(),
    tx_history: flatTxHistory(),
    rescan: flag(false).describe("Forget this node's index of the coin and read the chain anew."),
    birthday_height: birthday(),
  }),
  result: z.union([enabledCoin, enabledForFees]),
  async handle(p, ctx, { signal }) {
    const forFees = ctx.coins.forFees.enable(p.coin, p.mm2 !== undefined);
    if (forFees) return forFees.ok ? ok(enabledForFeesToJson(forFees.value)) : forFees;
    const done = await ctx.coins.enable(
      {
        coin: p.coin,
        mm2: p.mm2 !== undefined,
        requiredConfirmations: p.required_confirmations,
        requiresNotarization: p.requires_notarization,
        daemon: undefined,
        electrum: { servers: p.servers, minConnected: p.min_connected, maxConnected: p.max_connected },
        birthdayHeight: p.birthday_height,
        rescan: p.rescan,
        txHistory: p.tx_history,
        addressFormat: p.address_format,
        merge: p.utxo_merge_params,
        hdAddress: p.path_to_address,
        nodes: { urls: undefined, swapContract: undefined, fallbackSwapContract: undefined },
      },
      signal,
    );
    if (done.ok) return ok(enabledCoinToJson(done.value));
    const { error } = done;
    if (error.kind === "DaemonConfig" || error.kind === "BadDaemonUrl" || error.kind === "ChainMismatch")
      throw new Error(`${error.kind} of a coin without daemon and nodes`);
    return { ok: false, error };
  },
  errors,
  examples: [
    {
      title: "With two servers",
      style: "flat",
      params: { coin: "KMD", servers: [{ url: "127.0.0.1:10001" }, { url: "127.0.0.1:10002", protocol: "SSL" }], tx_history: true },
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
    { title: "Enabled already", style: "flat", params: { coin: "DOC", servers: [{ url: "127.0.0.1:10001" }] }, error: "AlreadyActive" },
    { title: "Without servers", style: "flat", params: { coin: "KMD", servers: [] }, error: "BadServers" },
  ],
});

import { parseHex, toHex } from "../../core/util/bytes.ts";
import { scriptToAddress } from "../../core/utxo/address.ts";
import { COINBASE_MATURITY } from "../chainParams.ts";
import type { Coin } from "../coinSet.ts";
import { unitsToJson } from "../money.ts";
import type { WalletLine } from "../watchWallet.ts";
import type { Args } from "./args.ts";
import { confirmationsJson, rawConfirmations } from "./blockJson.ts";
import { scriptOfAddress } from "./infoMethods.ts";
import { isKmd, type RpcContext, type RpcMethods } from "./method.ts";
import { RPC_CODE, RpcError } from "./rpcError.ts";

/** Most addresses or descriptors of one call, and most lines of history in one answer. */
const MAX_ADDRESSES = 1_000;
const MAX_LINES = 100_000;

const labelField = (context: RpcContext, label: string): object => (isKmd(context) ? { account: "" } : { label });

function importAddress(context: RpcContext, args: Args): null {
  const { chain } = context;
  const text = args.text(0);
  const asScript = parseHex(text);
  const script = asScript.ok && asScript.value.length > 0 ? asScript.value : scriptOfAddress(context, text);
  const address = scriptToAddress(script, chain.params.addresses) ?? "";
  const added = chain.wallet.watch(script, address, args.text(1, ""), args.bool(2, true));
  if (!added.ok) throw new RpcError(RPC_CODE.wallet, `the wallet watches at most ${added.error.max} addresses`);
  return null;
}

/** Confirmations of a coin by its block; 0 when unconfirmed. */
function confirmationsOf(
  context: RpcContext,
  height: number | null,
): { readonly confirmations: number; readonly rawconfirmations?: number } {
  const entry = height === null ? undefined : context.chain.state.at(height);
  if (entry) return confirmationsJson(context, entry);
  return isKmd(context) ? { confirmations: 0, rawconfirmations: 0 } : { confirmations: 0 };
}

function listUnspent(context: RpcContext, args: Args): object[] {
  const min = args.int(0, 0, 0x7fffffff, 1);
  const max = args.int(1, 0, 0x7fffffff, 9_999_999);
  const wanted = args.list(2, MAX_ADDRESSES);
  const scripts = new Set(wanted.map((a) => toHex(scriptOfAddress(context, a))));
  const { state, wallet } = context.chain;
  const isMature = (coin: Coin): boolean => !coin.coinbase || state.tip.height + 1 - coin.height >= COINBASE_MATURITY;
  return wallet.unspents().flatMap(({ coin, watched, confirmed }) => {
    const counts = confirmationsOf(context, confirmed ? coin.height : null);
    const inRange = counts.confirmations >= min && counts.confirmations <= max;
    if (!inRange || !isMature(coin) || (wanted.length > 0 && !scripts.has(coin.scriptHex))) return [];
    return [
      {
        txid: coin.txid,
        vout: coin.vout,
        ...(isKmd(context) ? { generated: coin.coinbase } : {}),
        address: watched.address,
        ...labelField(context, watched.label),
        scriptPubKey: coin.scriptHex,
        amount: unitsToJson(coin.value),
        ...counts,
        spendable: false,
        ...(isKmd(context) ? {} : { solvable: false, safe: confirmed }),
      },
    ];
  });
}

function lineToJson(context: RpcContext, line: WalletLine): object {
  const { entry, chainTx, category, watched } = line;
  const sent = category === "send";
  const block = entry
    ? {
        blockhash: entry.block.hash,
        ...(isKmd(context) ? {} : { blockheight: entry.height }),
        blockindex: line.index,
        blocktime: entry.block.header.time,
      }
    : {};
  return {
    involvesWatchonly: true,
    address: sent
      ? (scriptToAddress(chainTx.tx.outputs[line.vout]?.script ?? new Uint8Array(0), context.chain.params.addresses) ?? undefined)
      : watched.address,
    ...labelField(context, watched.label),
    category,
    amount: unitsToJson(sent ? -line.value : line.value),
    vout: line.vout,
    ...confirmationsOf(context, entry ? entry.height : null),
    ...block,
    txid: chainTx.txid,
    walletconflicts: [],
    time: line.time,
    timereceived: line.time,
    ...(isKmd(context)
      ? { vjoinsplit: [], size: chainTx.raw.length }
      : { wtxid: chainTx.wtxid, "bip125-replaceable": "unknown", abandoned: false }),
  };
}

function listSinceBlock(context: RpcContext, args: Args): object {
  const { state, wallet } = context.chain;
  let from = args.has(0) && args.any(0) !== "" ? state.entry(args.hash(0, "blockhash")) : undefined;
  if (args.has(0) && args.any(0) !== "" && !from) throw new RpcError(RPC_CODE.notFound, "Block not found");
  // A block of a lost branch: from where it left the active chain.
  while (from && !state.isActive(from) && from.previous) from = from.previous;
  const target = args.int(1, 1, 0x7fffffff, 1);
  const lines = args.bool(2, isKmd(context)) ? wallet.history(from ? from.height : -1).slice(0, MAX_LINES) : [];
  const last = state.at(Math.max(0, state.tip.height + 1 - target)) ?? state.tip;
  return {
    transactions: lines.map((l) => lineToJson(context, l)),
    ...(isKmd(context) ? {} : { removed: [] }),
    lastblock: last.block.hash,
  };
}

function listTransactions(context: RpcContext, args: Args): object[] {
  const count = args.int(1, 0, MAX_LINES, 10);
  const skip = args.int(2, 0, MAX_LINES, 0);
  if (!args.bool(3, isKmd(context))) return [];
  const lines = context.chain.wallet.history(-1);
  const end = Math.max(0, lines.length - skip);
  return lines.slice(Math.max(0, end - count), end).map((l) => lineToJson(context, l));
}

function listReceivedByAddress(context: RpcContext, args: Args): object[] {
  const min = args.int(0, 0, 0x7fffffff, 1);
  const withEmpty = args.bool(1, false);
  const withWatched = args.bool(2, isKmd(context));
  const filter = args.text(3, "");
  if (!withWatched) return [];
  const { wallet } = context.chain;
  const history = wallet.history(-1).filter((l) => l.category !== "send" && (l.entry ? rawConfirmations(context, l.entry) : 0) >= min);
  return wallet.watched().flatMap(({ address, label }) => {
    const lines = history.filter((l) => l.watched.address === address);
    if ((lines.length === 0 && !withEmpty) || (filter !== "" && filter !== address)) return [];
    const confirmations = lines.map((l) => (l.entry ? rawConfirmations(context, l.entry) : 0));
    return [
      {
        involvesWatchonly: true,
        address,
        ...labelField(context, label),
        amount: unitsToJson(lines.reduce((n, l) => n + l.value, 0n)),
        confirmations: lines.length === 0 ? 0 : Math.min(...confirmations),
        txids: [...new Set(lines.map((l) => l.chainTx.txid))],
      },
    ];
  });
}

/** Script a descriptor stands for; `addr()` and `raw()` only. */
function descriptorScript(context: RpcContext, value: unknown): { readonly desc: string; readonly script: Uint8Array } {
  const inner = typeof value === "object" && value !== null && "desc" in value ? value.desc : value;
  const desc = typeof inner === "string" ? (inner.split("#")[0] ?? "") : "";
  const [, kind, body] = /^(addr|raw)\(([0-9A-Za-z]{1,20000})\)$/.exec(desc) ?? [];
  if (kind === "addr") return { desc, script: scriptOfAddress(context, body) };
  const raw = kind === "raw" ? parseHex(body ?? "") : null;
  if (!raw?.ok) throw new RpcError(RPC_CODE.notFound, `'${desc.slice(0, 80)}' is not a valid descriptor: only addr() and raw() are served`);
  return { desc, script: raw.value };
}

function scanTxOutSet(context: RpcContext, args: Args): unknown {
  const action = args.text(0);
  if (action === "status") return null;
  if (action === "abort") return false;
  if (action !== "start") throw new RpcError(RPC_CODE.parameter, `Invalid action '${action.slice(0, 80)}'`);
  if (!args.has(1)) throw new RpcError(RPC_CODE.misc, "scanobjects argument is required for the start action");
  const { state } = context.chain;
  const found = args.list(1, MAX_ADDRESSES).flatMap((value) => {
    const { desc, script } = descriptorScript(context, value);
    return state.coins.ofScript(toHex(script)).map((coin) => ({ desc, coin }));
  });
  return {
    success: true,
    txouts: state.coins.size,
    height: state.tip.height,
    bestblock: state.tip.block.hash,
    unspents: found.map(({ desc, coin }) => ({
      txid: coin.txid,
      vout: coin.vout,
      scriptPubKey: coin.scriptHex,
      desc,
      amount: unitsToJson(coin.value),
      coinbase: coin.coinbase,
      height: coin.height,
      blockhash: state.at(coin.height)?.block.hash,
      confirmations: state.tip.height - coin.height + 1,
    })),
    total_amount: unitsToJson(found.reduce((n, { coin }) => n + coin.value, 0n)),
  };
}

export const WALLET_METHODS: RpcMethods = {
  importaddress: { params: ["address", "label", "rescan", "p2sh"], required: 1, run: importAddress },
  listunspent: { params: ["minconf", "maxconf", "addresses", "include_unsafe", "query_options"], run: listUnspent },
  listsinceblock: { params: ["blockhash", "target_confirmations", "include_watchonly"], run: listSinceBlock },
  listtransactions: { params: ["label", "count", "skip", "include_watchonly"], run: listTransactions },
  listreceivedbyaddress: { params: ["minconf", "include_empty", "include_watchonly", "address_filter"], run: listReceivedByAddress },
  getaddressinfo: {
    params: ["address"],
    required: 1,
    only: "core",
    run: (context, args) => {
      const script = scriptOfAddress(context, args.any(0));
      return {
        address: args.text(0),
        scriptPubKey: toHex(script),
        ismine: false,
        iswatchonly: context.chain.wallet.isWatched(script),
        solvable: false,
        labels: [],
      };
    },
  },
  scantxoutset: { params: ["action", "scanobjects"], required: 1, only: "core", run: scanTxOutSet },
};

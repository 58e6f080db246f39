import type { FaultPlan, Faults } from "../faults.ts";
import type { Args } from "./args.ts";
import { parseHash } from "./args.ts";
import type { RpcContext, RpcMethods } from "./method.ts";
import { RPC_CODE, RpcError } from "./rpcError.ts";
import { decodeTx } from "./txMethods.ts";

type Fields = { readonly [key: string]: unknown };

/** Longest delay or stall asked for, ms, and most uses. */
const MAX_MS = 86_400_000;
const MAX_COUNT = 1_000_000;
const MAX_NAMES = 100;

const bad = (text: string): RpcError => new RpcError(RPC_CODE.parameter, text);

function whole(fields: Fields, key: string, min: number, max: number, fallback: number | null = null): number {
  const value = fields[key] ?? fallback;
  if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max)
    throw bad(`${key} must be a whole number from ${min} to ${max}`);
  return value;
}

const optional = (fields: Fields, key: string, max: number): number | null => (fields[key] == null ? null : whole(fields, key, 1, max));

function names(fields: Fields, key: string, fallback: readonly string[] | null): readonly string[] | null {
  const value = fields[key];
  if (value == null) return fallback;
  const list = Array.isArray(value) ? value : [value];
  if (list.length > MAX_NAMES || !list.every((v): v is string => typeof v === "string"))
    throw bad(`${key} must be up to ${MAX_NAMES} names`);
  return list;
}

const BROADCAST = ["sendrawtransaction"] as const;

function planOf(fields: Fields): FaultPlan {
  const limits = { count: optional(fields, "count", MAX_COUNT), forMs: optional(fields, "forMs", MAX_MS) };
  const methods = names(fields, "methods", null);
  switch (fields.kind) {
    case "stall":
      return { kind: "stall", methods, ...limits };
    case "slow":
      return { kind: "slow", delayMs: whole(fields, "delayMs", 0, MAX_MS), methods, ...limits };
    case "http_500":
      return { kind: "http_500", methods, ...limits };
    case "lost_reply":
      return { kind: "lost_reply", methods: names(fields, "methods", BROADCAST), ...limits, count: limits.count ?? 1 };
    case "refuse_broadcast": {
      const message = typeof fields.message === "string" ? fields.message.slice(0, 200) : "refused on request";
      return {
        kind: "refuse_broadcast",
        code: whole(fields, "code", -40_000, -1, RPC_CODE.rejected),
        message,
        methods: BROADCAST,
        ...limits,
      };
    }
    case "wrong_height":
      return { kind: "wrong_height", delta: whole(fields, "delta", -1_000_000, 1_000_000), methods: null, ...limits };
    default:
      throw bad(
        "kind must be one of stall, slow, http_500, lost_reply, refuse_broadcast, wrong_height, reorg, forget, hold, release, clear, list",
      );
  }
}

function reorg(context: RpcContext, fields: Fields): object {
  const { chain } = context;
  const raws = Array.isArray(fields.txs) ? fields.txs.slice(0, 1_000) : [];
  const forget = names(fields, "forget", []) ?? [];
  const depth = whole(fields, "depth", 1, 100_000);
  const blocks = whole(fields, "blocks", 1, 100_001, depth + 1);
  const done = chain.reorg({ depth, blocks, txs: raws.map((r) => decodeTx(context, r)), forget });
  if (!done.ok) throw new RpcError(RPC_CODE.verify, done.error.reason);
  return { height: done.value.height, hash: done.value.block.hash };
}

function forget({ chain }: RpcContext, fields: Fields): readonly string[] {
  const { graph } = chain.mempool;
  if (fields.txid === undefined) {
    const all = graph.entries().map((e) => e.chainTx.txid);
    graph.clear();
    return all;
  }
  return graph.removeWithDescendants(parseHash(fields.txid, "txid"));
}

function hold({ chain }: RpcContext, fields: Fields): readonly string[] {
  const txid = parseHash(fields.txid, "txid");
  if (chain.held.size >= MAX_COUNT) throw bad("too many transactions held");
  if (fields.kind === "hold") chain.held.add(txid);
  else chain.held.delete(txid);
  return [...chain.held];
}

/** `chain_fault`: misbehave on request. Lasting faults are answered with the list of active ones. */
export function faultMethods(faults: Faults): RpcMethods {
  const run = (context: RpcContext, args: Args): unknown => {
    const fields = args.object(0);
    switch (fields.kind) {
      case "reorg":
        return reorg(context, fields);
      case "forget":
        return forget(context, fields);
      case "hold":
      case "release":
        return hold(context, fields);
      case "list":
        return faults.list();
      case "clear":
        faults.clear(fields.id === undefined ? undefined : whole(fields, "id", 1, Number.MAX_SAFE_INTEGER));
        return faults.list();
      default:
        return { id: faults.add(planOf(fields)).id, active: faults.list() };
    }
  };
  return { chain_fault: { params: ["fault"], required: 1, run } };
}

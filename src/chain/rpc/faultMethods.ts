import type { FaultPlan, Faults } from "../faults.ts";
import type { Args } from "./args.ts";
import { parseHash } from "./args.ts";
import { bad, type Fields, limitsOf, MAX_COUNT, MAX_MS, names, whole } from "./faultFields.ts";
import type { RpcContext, RpcMethods } from "./method.ts";
import { RPC_CODE, RpcError } from "./rpcError.ts";
import { decodeTx } from "./txMethods.ts";

const BROADCAST = ["sendrawtransaction"] as const;

function planOf(fields: Fields): FaultPlan {
  const limits = limitsOf(fields);
  const { methods } = limits;
  switch (fields.kind) {
    case "stall":
      return { kind: "stall", ...limits };
    case "slow":
      return { kind: "slow", delayMs: whole(fields, "delayMs", 0, MAX_MS), ...limits };
    case "http_500":
      return { kind: "http_500", ...limits };
    case "lost_reply":
      return { kind: "lost_reply", ...limits, methods: methods ?? BROADCAST, count: limits.count ?? 1 };
    case "refuse_broadcast": {
      const message = typeof fields.message === "string" ? fields.message.slice(0, 200) : "refused on request";
      return {
        kind: "refuse_broadcast",
        code: whole(fields, "code", -40_000, -1, RPC_CODE.rejected),
        message,
        ...limits,
        methods: BROADCAST,
      };
    }
    case "wrong_height":
      return { kind: "wrong_height", delta: whole(fields, "delta", -1_000_000, 1_000_000), ...limits, methods: null };
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

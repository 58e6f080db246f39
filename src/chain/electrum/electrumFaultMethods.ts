import type { Args } from "../rpc/args.ts";
import { bad, type Fields, limitsOf, MAX_MS, text, whole } from "../rpc/faultFields.ts";
import type { RpcMethods } from "../rpc/method.ts";
import type { ElectrumEffect } from "./electrumFaults.ts";
import type { ElectrumServer } from "./electrumServer.ts";

/** Largest endless line, bytes. */
const MAX_ENDLESS = 1_000_000_000;
const MAX_HEIGHT = 1_000_000;

function rateOf(value: unknown): number {
  if (typeof value !== "number" || !(value >= 0 && value <= 1_000)) throw bad("rate must be a number of coins");
  return value;
}

type Kind = ElectrumEffect["kind"];

/** How each kind is read. */
const EFFECTS: { readonly [K in Kind]: (fields: Fields) => Extract<ElectrumEffect, { kind: K }> } = {
  stall: () => ({ kind: "stall" }),
  slow: (f) => ({ kind: "slow", delayMs: whole(f, "delayMs", 0, MAX_MS) }),
  lost_reply: () => ({ kind: "lost_reply" }),
  refuse: () => ({ kind: "refuse" }),
  error: (f) => ({ kind: "error", code: whole(f, "code", -40_000, 40_000, 1), message: text(f, "message", "refused on request") }),
  garbage: (f) => ({ kind: "garbage", text: text(f, "text") }),
  wrong_id: () => ({ kind: "wrong_id" }),
  endless: (f) => ({ kind: "endless", bytes: whole(f, "bytes", 1, MAX_ENDLESS, MAX_ENDLESS) }),
  mute: () => ({ kind: "mute" }),
  lag: (f) => ({ kind: "lag", blocks: whole(f, "blocks", 1, MAX_HEIGHT) }),
  short_histories: (f) => ({ kind: "short_histories", lines: whole(f, "lines", 1, MAX_HEIGHT) }),
  hide: (f) => ({ kind: "hide", txid: text(f, "txid") }),
  false_height: (f) => ({ kind: "false_height", delta: whole(f, "delta", -MAX_HEIGHT, MAX_HEIGHT) }),
  claim: (f) => ({ kind: "claim", scriptHash: text(f, "scriptHash"), txid: text(f, "txid"), height: whole(f, "height", 1, MAX_HEIGHT) }),
  false_branch: () => ({ kind: "false_branch" }),
  false_header: (f) => ({ kind: "false_header", fromHeight: whole(f, "fromHeight", 0, MAX_HEIGHT, 0) }),
  false_tx: (f) => ({ kind: "false_tx", txid: text(f, "txid") }),
  swallow_broadcast: () => ({ kind: "swallow_broadcast" }),
  false_fee: (f) => ({ kind: "false_fee", rate: rateOf(f.rate) }),
};

const isKind = (value: unknown): value is Kind => typeof value === "string" && Object.hasOwn(EFFECTS, value);

/** `chain_electrumFault`: lets one of the Electrum servers over the chain misbehave, the first unless `server` says another. */
export function electrumFaultMethods(servers: () => readonly ElectrumServer[]): RpcMethods {
  const run = (_: unknown, args: Args): unknown => {
    const fields = args.object(0);
    const { faults } = servers()[whole(fields, "server", 0, 100, 0)] ?? {};
    if (!faults) throw bad("there is no such Electrum server");
    if (fields.kind === "clear") faults.clear(fields.id === undefined ? undefined : whole(fields, "id", 1, Number.MAX_SAFE_INTEGER));
    if (fields.kind === "clear" || fields.kind === "list") return faults.list();
    if (!isKind(fields.kind)) throw bad(`kind must be one of ${Object.keys(EFFECTS).join(", ")}, clear, list`);
    return { id: faults.add({ ...EFFECTS[fields.kind](fields), ...limitsOf(fields) }).id, active: faults.list() };
  };
  return { chain_electrumFault: { params: ["fault"], required: 1, run } };
}

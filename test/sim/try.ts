import { HOUR_MS } from "./simWorld.ts";
import { match, tradingWorld } from "./trade.ts";
const t0 = performance.now();
const t = await tradingWorld({ seed: 1 });
console.log("world", performance.now() - t0);
const uuid = await match(t, "4", "0.5");
console.log("matched", performance.now() - t0);
await t.world.runUntil("ends", () => t.maker.outcome(uuid) !== null && t.taker.outcome(uuid) !== null, 12 * HOUR_MS);
console.log(t.maker.outcome(uuid), t.taker.outcome(uuid), performance.now() - t0);
for (const n of [t.maker, t.taker]) { console.log(n.name); for (const e of t.world.node(n.name).swaps.get(uuid) ?? []) console.log((e.atMs - 1.7e12) / 1000, e.event.type, "slot" in e.event ? e.event.slot : ""); for (const c of ["DOC","MARTY"]) console.log(c, n.balance(c)); }
console.log(t.world.traceHash(), t.world.trace.count);
const uuid2 = await match(t, "4", "0.5");
await t.world.runUntil("maker pays", () => t.maker.has(uuid2, (e) => e.type === "tx_seen" && e.slot === "makerPayment"));
t.taker.crash();
const t1 = performance.now();
await t.world.runUntil("ends", () => t.maker.outcome(uuid2) !== null, 12 * HOUR_MS);
console.log("refund", t.maker.outcome(uuid2), performance.now() - t1, performance.now() - t0);
await t.world.close();

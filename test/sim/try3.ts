import { crashRun } from "./crashRun.ts";
import { tradingWorld } from "./trade.ts";
const t = await tradingWorld({ seed: 1 });
for (const n of [0, 1]) {
  const r = await crashRun(t, { who: "maker", at: "after_store", n, downMs: 300_000 });
  console.log(t.world.clock.nowMs(), JSON.stringify(r));
  console.log(t.world.report());
}

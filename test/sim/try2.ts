import { crashRun } from "./crashRun.ts";
import { tradingWorld } from "./trade.ts";
const t0 = performance.now();
const only = process.argv[2];
for (const at of ["after_store", "before_store", "store_refused", "before_broadcast", "after_broadcast"] as const)
  for (const who of ["maker", "taker"] as const)
    for (const downMs of at === "store_refused" ? [0] : (process.env.DOWN ? process.env.DOWN.split(",").map(Number) : [1_000, 300_000])) {
      if (only && !`${at} ${who} ${downMs}`.includes(only)) continue;
      let t = await tradingWorld({ seed: 1 });
      for (let n = 0; ; n++) {
        const t1 = performance.now();
        try {
          const r = await crashRun(t, { who, at, n, downMs });
          console.log(at, who, downMs, n, r.hit, r.makerOutcome, r.takerOutcome, r.wrongs.join("; "), (performance.now() - t1).toFixed(0));
          if (!r.hit) break;
        } catch (e) {
          console.log(at, who, downMs, n, "THROWN", String(e).slice(0, process.argv[3] ? 20000 : 200));
          await t.world.close(); t = await tradingWorld({ seed: 1 });
          if (n > 40) break;
        }
      }
      await t.world.close();
    }
console.log((performance.now() - t0).toFixed(0));

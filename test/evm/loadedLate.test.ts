import { readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** An import or re-export that is there when the program runs: not of types alone, and not `import(...)`. */
const STATIC = /^(?:import|export)\s+(?!type\b)(?:[^"'();]*?\sfrom\s+)?"([^"]+)"/gm;

/** Every file and package that is loaded with `from`, before anything is asked of the node. */
function loadedWith(from: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const queue = [resolve(ROOT, from)];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const name = relative(ROOT, path);
    if (seen.has(name)) continue;
    seen.add(name);
    for (const [, target = ""] of readFileSync(path, "utf8").matchAll(STATIC)) {
      if (target.startsWith(".")) queue.push(resolve(dirname(path), target));
      else seen.add(target);
    }
  }
  return seen;
}

const ofAccountChains = (name: string): boolean =>
  /^src\/(core\/evm|adapters\/evmRpc|app\/coin\/evm)\//.test(name) ||
  name.startsWith("micro-eth-signer") ||
  name === "src/main/openEvmChain.ts";

test("a node loads nothing of account chains before a coin of one is enabled", () => {
  const loaded = loadedWith("src/main/compose.ts");
  expect(loaded).toContain("src/app/coin/coinRegistry.ts");
  expect([...loaded].filter(ofAccountChains)).toEqual([]);
});

test("what it loads then is all there, and no package among it", () => {
  const loaded = loadedWith("src/app/coin/evm/evmCoins.ts");
  expect(loaded).toContain("src/core/evm/evmKind.ts");
  expect([...loaded].filter((name) => name.startsWith("micro-eth-signer"))).toEqual([]);
});

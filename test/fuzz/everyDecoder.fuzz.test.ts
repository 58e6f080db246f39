import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FUZZ = join(ROOT, "test/fuzz");

/** Readers of outside data under other names: a `parse…` finds itself. */
const OTHER_NAMES = [
  "src/adapters/evmRpc/rebuildTx.ts#rebuildTx",
  "src/wire/wsFrames.ts#WsFrameReader",
  "src/adapters/jsonRpc/daemonConf.ts#readDaemonConf",
  "src/adapters/libp2p/lengthPrefix.ts#FrameDecoder",
  "src/adapters/sqlite/swapStore.ts#createSwapStore",
  "src/config/load.ts#loadConfig",
  "src/core/evm/ethMessage.ts#verifyEthMessage",
  "src/core/keys/iguana.ts#passphraseToKeyPair",
  "src/core/keys/signMessage.ts#verifyMessage",
  "src/core/message/healthcheck.ts#openHealthcheck",
  "src/core/proof/equihash.ts#isEquihashSolution",
  "src/core/proof/headerChain.ts#extend",
  "src/core/proof/merkleBranch.ts#checkInclusion",
  "src/core/proof/parentProof.ts#commitsTo",
  "src/core/utxo/htlc.ts#extractSecret",
  "src/core/utxo/outputScript.ts#classifyOutput",
  "src/core/utxo/script.ts#decodeScript",
  "src/core/utxo/swapTx.ts#validateFee",
  "src/rpc/rpcHandler.ts#createRpcHandler",
];

/** Every `export function parse…` and `export const parse…` of the product, as `file#name`. */
function exportedParsers(): string[] {
  const files = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter(
    (f) => f.endsWith(".ts") && !f.endsWith(".test.ts"),
  );
  return files.flatMap((file) => {
    const text = readFileSync(join(ROOT, "src", file), "utf8");
    const names = [...text.matchAll(/^export (?:async )?(?:function|const) (parse[A-Z]\w*)/gm)].map((m) => m[1] ?? "");
    return names.map((name) => `src/${file.replaceAll("\\", "/")}#${name}`);
  });
}

/** What the fuzz tests import from the product, as `file#name`; an import nothing uses does not pass the linter. */
function fuzzed(): ReadonlySet<string> {
  const found = new Set<string>();
  for (const file of readdirSync(FUZZ).filter((f) => f.endsWith(".fuzz.test.ts"))) {
    for (const m of readFileSync(join(FUZZ, file), "utf8").matchAll(/^import \{([^}]*)\} from "([^"]+)";/gm)) {
      const target = posix.join("test/fuzz", m[2] ?? "");
      for (const name of (m[1] ?? "").split(",")) found.add(`${target}#${name.trim().split(/\s/)[0]}`);
    }
  }
  return found;
}

test("every parser the product exports has a fuzz test that imports it, and so has every other reader of outside data", () => {
  const all = [...exportedParsers(), ...OTHER_NAMES];
  expect(all.length).toBeGreaterThan(70);
  const covered = fuzzed();
  expect(all.filter((name) => !covered.has(name))).toEqual([]);
});

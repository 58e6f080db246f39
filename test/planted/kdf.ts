import { bug, type PlantedBug } from "./plantedBug.ts";

const HOSTILE = "src/main/importKdfHostile.test.ts";
const COMMAND = "src/main/importKdfCommand.test.ts";

/** Coming from KDF: what is taken over, what stays with KDF, and that nothing of KDF's changes. */
export const KDF_BUGS: readonly PlantedBug[] = [
  bug(
    "a swap taken over as ended stays so although KDF went on with it",
    "src/main/importKdf.ts",
    'const isReopened = wasOver && plan.plan !== "history";',
    "const isReopened = false;",
    HOSTILE,
  ),
  bug(
    "a swap that goes on here is still listed as ended in KDF",
    "src/adapters/sqlite/swapStore.ts",
    '  { sql: "DELETE FROM ended_elsewhere WHERE uuid = ?", params: [s.uuid] },\n',
    "",
    HOSTILE,
  ),
  bug(
    "a KDF that was started meanwhile is not looked for before what is open is stored",
    "src/main/importKdf.ts",
    "if (busy !== null) return { ok: false, reason: `${busy}; of",
    "if (root === null) return { ok: false, reason: `${busy}; of",
    HOSTILE,
  ),
  bug(
    "names of ours that lead to KDF's files are written through",
    "src/adapters/system/dataDir.ts",
    "if (found === null) return ok(undefined);",
    "if (found !== root) return ok(undefined);",
    HOSTILE,
  ),
  bug(
    "a second name of KDF's database is taken for a file of ours",
    "src/adapters/system/kdfsOwn.ts",
    " || isSame(at, join(dirname(at), name))",
    "",
    HOSTILE,
  ),
  bug(
    "KDF's database is repaired as if it were ours",
    "src/main/dataCommand.ts",
    "if (kdfs !== undefined) {",
    'if (kdfs === "") {',
    HOSTILE,
  ),
  bug(
    "a lock KDF is writing at that moment counts for nothing",
    "src/adapters/kdfFolder/kdfLocks.ts",
    "Math.max(namedSec, Math.floor(found.mtimeMs / 1_000))",
    "namedSec",
    "src/adapters/kdfFolder/kdfLocks.test.ts",
  ),
  bug(
    "a lock of KDF counts for no longer than it takes to write it anew",
    "src/adapters/kdfFolder/kdfLocks.ts",
    "STALE_AFTER_SEC = 40",
    "STALE_AFTER_SEC = 30",
    "src/adapters/kdfFolder/kdfLocks.test.ts",
  ),
  bug(
    "a link among KDF's files is followed to elsewhere",
    "src/adapters/kdfFolder/kdfFiles.ts",
    "constants.O_RDONLY | constants.O_NOFOLLOW",
    "constants.O_RDONLY",
    COMMAND,
  ),
  bug(
    "KDF's database is opened where it lies",
    "src/adapters/kdfFolder/kdfDatabase.ts",
    "new DatabaseSync(join(folder, KDF_DATABASE))",
    "new DatabaseSync(join(root, KDF_DATABASE))",
    COMMAND,
    HOSTILE,
  ),
  bug(
    "a look at what would be taken over takes it over",
    "src/main/importKdf.ts",
    "if (options.dryRun) {\n      const engine",
    "if (options.dryRun && root === path) {\n      const engine",
    HOSTILE,
  ),
  bug(
    "a swap that is here already is taken over once more",
    "src/main/importKdf.ts",
    "if (isKnown && !isReopened) work.knownCount++;",
    "if (isKnown && wasOver && !isReopened) work.knownCount++;",
    COMMAND,
  ),
  bug(
    "the volume connected matches took is offered again",
    "src/app/kdf/kdfOrders.ts",
    "if (match.connected !== null && match.connected !== undefined) taken",
    "if (match.connected === null) taken",
    COMMAND,
  ),
  bug(
    "a taker's order that was being matched is placed anew",
    "src/app/kdf/kdfOrders.ts",
    "if (Object.keys(matches).length > 0)",
    "if (Object.keys(matches).length > MAX_ENTRIES)",
    COMMAND,
  ),
  bug(
    "events of a swap of KDF may be of tomorrow",
    "src/app/kdf/kdfSwapLog.ts",
    "atMs: Math.min(from.timestamp, nowMs)",
    "atMs: from.timestamp",
    "src/app/kdf/recordedImports.test.ts",
  ),
  bug(
    "a payment that is not what was agreed is taken for KDF's own",
    "src/app/kdf/kdfSwapLog.ts",
    "if (fault !== null) unfit(",
    'if (fault === "") unfit(',
    "src/app/kdf/recordedImports.test.ts",
  ),
  bug(
    "a swap of another wallet's keys is gone on with",
    "src/app/kdf/kdfSwapLog.ts",
    "if (start.my_persistent_pub !== ownKey || keys[0] !== makerCoin.pubkey || keys[1] !== takerCoin.pubkey)",
    'if (ownKey === "")',
    COMMAND,
  ),
];

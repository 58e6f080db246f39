import { bug, type PlantedBug } from "./plantedBug.ts";

const HEADER = "src/core/proof/blockHeader.ts";
const HEADER_TEST = "src/core/proof/blockHeader.test.ts";
const CHAIN = "src/core/proof/headerChain.ts";
const CHAIN_TEST = "src/core/proof/headerChain.test.ts";
const WORK = "src/core/proof/proofOfWork.ts";
const WORK_TEST = "src/core/proof/proofOfWork.test.ts";
const TARGET = "src/core/proof/targetRule.ts";
const TARGET_TEST = "src/core/proof/targetRule.test.ts";
const COMPACT = "src/core/proof/compactTarget.ts";
const COMPACT_TEST = "src/core/proof/compactTarget.test.ts";
const EQUIHASH = "src/core/proof/equihash.ts";
const EQUIHASH_TEST = "src/core/proof/equihash.test.ts";
const MERKLE = "src/core/proof/merkleBranch.ts";
const MERKLE_TEST = "src/core/proof/merkleBranch.test.ts";
const PARENT = "src/core/proof/parentProof.ts";
const PARENT_TEST = "src/core/proof/parentProof.test.ts";
const FIRST_BLOCK_TEST = "test/electrum/firstBlock.test.ts";
const HEIGHTS_TEST = "test/electrum/blockHeights.test.ts";
const RULES_TEST = "src/core/proof/headerRules.test.ts";

/** What a server can make a node believe with headers and Merkle branches. */
export const PROOF: readonly PlantedBug[] = [
  bug(
    "most servers take hundreds of blocks back with one that lost long ago, where blocks are dear",
    "src/adapters/electrum/serverLook.ts",
    "const HEADER_WINDOW = KEPT_HEADERS - 1;",
    "const HEADER_WINDOW = KEPT_HEADERS + 99;",
    "test/electrum/servers.test.ts",
  ),
  bug(
    "servers that come first make up the first block of a known chain, and every honest one is dropped for good",
    "src/adapters/electrum/firstBlock.ts",
    "deps.rules.firstBlock ?? deps.genesis;",
    "deps.genesis;",
    FIRST_BLOCK_TEST,
  ),
  bug(
    "a first block that liars had stored shuts out every server of the chain",
    "src/adapters/electrum/firstBlock.ts",
    "deps.rules.firstBlock ?? deps.genesis;",
    "deps.genesis ?? deps.rules.firstBlock;",
    FIRST_BLOCK_TEST,
  ),
  bug(
    "servers that come first name true blocks at other heights, and what the others prove counts for nothing",
    "src/adapters/electrum/headerFollower.ts",
    "index.tipHeader === undefined && rules.tellsHeights ?",
    "index.tipHeader === undefined && !rules ?",
    HEIGHTS_TEST,
  ),
  bug(
    "a chain that goes on begins anew with true blocks at other heights",
    "src/adapters/electrum/headerFollower.ts",
    "if (rules.tellsHeights && last",
    "if (!rules && last",
    HEIGHTS_TEST,
  ),
  bug(
    "the height that a server names is taken for the one that its block says",
    "src/adapters/electrum/blockHeights.ts",
    "first && coinbaseHeight(first.tx.tx)",
    "first && height",
    HEIGHTS_TEST,
  ),
  bug(
    "who shows no height is asked at each look",
    "src/adapters/electrum/blockHeights.ts",
    "asked?.hash !== hash ||",
    "asked?.hash !== hash || AGAIN_MS > 0 ||",
    HEIGHTS_TEST,
  ),
  bug(
    "one server that shows its height as late as may be keeps a coin from being enabled",
    "src/adapters/electrum/blockHeights.ts",
    "shown.filter(Boolean).length >= majorityOf(servers.length)",
    "shown.filter(Boolean).length >= servers.length",
    HEIGHTS_TEST,
  ),
  bug(
    "a first transaction of another block tells the height",
    "src/adapters/electrum/txProver.ts",
    "tx !== null && this.isFirst(tx, header, branch)",
    "tx !== null",
    HEIGHTS_TEST,
  ),
  bug(
    "of a chain that is known nobody shows the heights",
    "src/core/proof/headerRules.ts",
    "checkpoint: checkpoint.value, firstBlock, tellsHeights });",
    "checkpoint: checkpoint.value, firstBlock, tellsHeights: false });",
    "src/core/proof/headerRules.test.ts",
  ),
  bug(
    "a megabyte beside each header of a chain fills the memory",
    CHAIN,
    "headers.push(withoutProof(header));",
    "headers.push(header);",
    CHAIN_TEST,
  ),
  bug(
    "a megabyte beside each header that one server is asked for fills the memory",
    "src/adapters/electrum/headerReader.ts",
    "this.#kept.set(header.hash, withoutProof(header));",
    "this.#kept.set(header.hash, header);",
    "src/adapters/electrum/headerReader.test.ts",
  ),
  bug(
    "a made-up block is as easy as one before that came late, whatever came early since",
    TARGET,
    "const lateSec = last.timeSec - former.timeSec - easing.spacingSec;",
    "const lateSec = Math.max(0, last.timeSec - former.timeSec - easing.spacingSec);",
    TARGET_TEST,
  ),
  bug(
    "each block may be four times as easy as the one before it",
    TARGET,
    "fitsWindow(target, before) && fitsEasing(target, before, rule.easing, targetOfBits(rule.limitBits) ?? 0n)",
    "fitsWindow(target, before)",
    TARGET_TEST,
  ),
  bug(
    "a block after a late one is refused where its chain makes it easier",
    TARGET,
    "most * factor]",
    "most << BigInt(FACTOR_BITS)]",
    TARGET_TEST,
  ),
  bug(
    "a block that DigiShield makes half as easy again is refused",
    TARGET,
    "most * BigInt(easing.percent)",
    "most * BigInt(easing.percent - 1)",
    TARGET_TEST,
  ),
  bug(
    "headers of one answer need not follow each other",
    HEADER,
    "before && before.hash !== header.prevHash",
    "false",
    HEADER_TEST,
    CHAIN_TEST,
  ),
  bug("headers are read without end", HEADER, "if (headers.length === MAX_HEADERS)", "if (headers.length > 2 * MAX_HEADERS)", HEADER_TEST),
  bug(
    "one header keeps the whole answer in memory",
    HEADER,
    "bytes.slice(start, r.offset)",
    "bytes.subarray(start, r.offset)",
    HEADER_TEST,
  ),
  bug(
    "the proof behind a merge-mined header is not read",
    HEADER,
    'layout === "auxpow" && r.problem === null',
    'layout !== "auxpow" && r.problem === null',
    HEADER_TEST,
  ),
  bug("a header need not follow the tip", CHAIN, "if (tipOf(before).hash !== prevHash)", "if (tipOf(before).hash === hash)", CHAIN_TEST),
  bug(
    "headers are followed whatever their time",
    CHAIN,
    "if (timeSec > limits.nowSec + MAX_AHEAD_SEC)",
    "if (timeSec > 2 * limits.nowSec)",
    CHAIN_TEST,
  ),
  bug("a header as old as the median is followed", CHAIN, "timeSec <= median", "timeSec < median", CHAIN_TEST),
  bug(
    "another block than the checkpoint's is followed",
    CHAIN,
    "checkpoint.hash !== hash",
    "checkpoint.hash === header.prevHash",
    CHAIN_TEST,
  ),
  bug(
    "a chain may begin where a few machines can mine",
    CHAIN,
    "rules.anchorBits === null || rules",
    "rules.anchorBits !== null || rules",
    CHAIN_TEST,
  ),
  bug("a chain that is taken back keeps the work it lost", CHAIN, "work: chain.work - lost", "work: chain.work", CHAIN_TEST),
  bug("a branch of as much work takes the chain's place", CHAIN, "branch.work > chain.work", "branch.work >= chain.work", CHAIN_TEST),
  bug(
    "the longer branch wins",
    WORK,
    "return target === null ? 0n : workOfTarget(target);",
    "return target === null ? 0n : 1n;",
    CHAIN_TEST,
  ),
  bug(
    "scrypt work is compared as SHA-256 work",
    WORK,
    "meets(scryptHash(header.raw), header.bits)",
    "meets(header.hash, header.bits)",
    WORK_TEST,
  ),
  bug(
    "an Equihash header needs no solution",
    WORK,
    "meets(header.hash, work.floorBits) &&",
    "meets(header.hash, work.floorBits) ||",
    WORK_TEST,
  ),
  bug("anybody's target counts where none binds", WORK, 'if (work.kind === "unchecked") return 1n;', "", WORK_TEST),
  bug("a period's target moves by eight at most", TARGET, "const FACTOR = 4n;", "const FACTOR = 8n;", TARGET_TEST),
  bug(
    "Litecoin's periods are measured from Bitcoin's block",
    TARGET,
    "height - PERIOD - rule.measuredFrom",
    "height - PERIOD",
    TARGET_TEST,
  ),
  bug("a target may change within a period", TARGET, "return bits === last.bits;", "return bits <= last.bits;", TARGET_TEST),
  bug("an old easy target lets the next be easy", TARGET, "before.headers.slice(-WINDOW)", "before.headers", TARGET_TEST),
  bug("a negative target is a large one", COMPACT, "(bits & SIGN) !== 0 || size > 34", "size > 34", COMPACT_TEST),
  bug("a written target has the sign of a negative one", COMPACT, "mantissa >>>= 8;\n    size++;", "size += 0;", COMPACT_TEST),
  bug(
    "one Equihash solution is thousands",
    EQUIHASH,
    "if (left >= right) return false;",
    "if (left === right) return false;",
    EQUIHASH_TEST,
  ),
  bug("an Equihash solution may use an index twice", EQUIHASH, " || new Set(indices).size !== indices.length", "", EQUIHASH_TEST),
  bug(
    "Equihash strings need not give zero in the end",
    EQUIHASH,
    "round === k ? n : round * roundBits",
    "round * roundBits",
    EQUIHASH_TEST,
  ),
  bug(
    "a node of the tree passes for a transaction",
    MERKLE,
    "holdsTx ||= isTx(both);",
    "holdsTx ||= branch.length > MAX_DEPTH && isTx(both);",
    MERKLE_TEST,
  ),
  bug("a transaction of 64 bytes is proven", MERKLE, "claim.strippedBytes !== NODE_BYTES", "claim.strippedBytes > 0", MERKLE_TEST),
  bug("a transaction is proven at any place of the tree", MERKLE, "place % 2 === 0 ?", "text > txid ?", MERKLE_TEST),
  bug("a place outside the tree is accepted", MERKLE, "|| pos >= 2 ** branch.length", "", MERKLE_TEST),
  bug("any root will do", MERKLE, "if (root !== merkleRoot)", 'if (root === "")', MERKLE_TEST),
  bug(
    "a test coin is held for the real chain of its ticker",
    "src/core/proof/knownChains.ts",
    'facts && !(entry.isTestnet && facts.kind === "known")',
    "facts",
    RULES_TEST,
  ),
  bug(
    "GoByte is used with Electrum servers, whose headers never fit each other",
    "src/core/proof/knownChains.ts",
    '["GBX", namedBy("NeoScrypt")],',
    "",
    RULES_TEST,
  ),
  bug("a checkpoint in capitals matches nothing", "src/core/proof/checkpoint.ts", "hash: hash.toLowerCase()", "hash", RULES_TEST),
  bug(
    "a merge-mined block needs no proof",
    WORK,
    "return parentProof !== null && commitsTo",
    "return parentProof === null ? raw : commitsTo",
    PARENT_TEST,
  ),
  bug(
    "any parent's work counts for any block",
    PARENT,
    "if (at < 0 || tail.length < 8) return false;",
    "if (tail.length < 8) return false;",
    PARENT_TEST,
  ),
  bug(
    "a parent need not hold the coinbase",
    PARENT,
    "if (!equalBytes(rootOf(coinbase",
    "if (parent.length === 0 && !equalBytes(rootOf(coinbase",
    PARENT_TEST,
  ),
  bug(
    "a chain may stand at any place of the merge-mined tree",
    PARENT,
    "chainBranch.index === placeOf(",
    "chainBranch.index < 2 ** depth && 0 <= placeOf(",
    PARENT_TEST,
  ),
  bug("a root may stand anywhere in the parent's script", PARENT, "&& at === magic + MAGIC.length ? at", "? at", PARENT_TEST),
  bug("a merge-mined block of another chain counts", PARENT, "chainIdOf(raw) !== chainId || ", "", PARENT_TEST),
  bug("a parent may be a block of the chain itself", PARENT, " || chainIdOf(parent) === chainId", "", PARENT_TEST),
];

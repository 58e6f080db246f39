import { secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { type Block, type BlockHeader, createBlock, mineHeader, serializeBlock } from "../../../src/chain/block.ts";
import { type ChainKind, COIN } from "../../../src/chain/chainParams.ts";
import { type ChainTx, txToChainTx } from "../../../src/chain/chainTx.ts";
import type { EmbeddedChain } from "../../../src/chain/embeddedChain.ts";
import { merkleRoot } from "../../../src/chain/merkle.ts";
import { type KeyPair, uncompressedPubkey } from "../../../src/core/keys/keyPair.ts";
import { concatBytes, toHex } from "../../../src/core/util/bytes.ts";
import { hash160 } from "../../../src/core/utxo/hash.ts";
import { claimScriptSig, refundScriptSig } from "../../../src/core/utxo/htlc.ts";
import { OP } from "../../../src/core/utxo/opcodes.ts";
import { p2pkhScript, p2shScript, p2wpkhScript, p2wshScript } from "../../../src/core/utxo/outputScript.ts";
import { pushBytes } from "../../../src/core/utxo/script.ts";
import { legacyDigest, SIGHASH_ALL, segwitV0Digest } from "../../../src/core/utxo/sighash.ts";
import { signScript, withInput } from "../../../src/core/utxo/signInput.ts";
import type { Tx } from "../../../src/core/utxo/tx.ts";
import { createChainWorld, draft, type Funded, fund, pay, payTo, SECRET, testContract, testKey } from "../../fakes/chainWorld.ts";

/** A block, and what our chain said about it. */
export type JudgedBlock = {
  readonly name: string;
  readonly hex: string;
  readonly valid: boolean;
  readonly tip: string;
  readonly reason: string | null;
};

const OUT = payTo(testKey("anyone"));
const FEE = 10_000n;
const SIGHASH_NONE = 2;
const SIGHASH_SINGLE = 3;

/** Drives one chain and writes down every block it is given with its own verdict. */
class Scenario {
  readonly chain: EmbeddedChain;
  readonly blocks: JudgedBlock[] = [];
  #known = 0;

  constructor(kind: ChainKind) {
    this.chain = createChainWorld(kind).chain;
    this.catchUp("first block");
  }

  /** Writes down blocks the chain mined by itself. */
  catchUp(name: string): void {
    const { state } = this.chain;
    while (this.#known < state.tip.height) {
      const entry = state.at(++this.#known);
      if (entry) this.blocks.push({ name, hex: toHex(serializeBlock(entry.block)), valid: true, tip: entry.block.hash, reason: null });
    }
  }

  /** Offers a block to the chain. */
  submit(name: string, block: Block): boolean {
    const outcome = this.chain.submit(block);
    const { state } = this.chain;
    this.#known = state.tip.height;
    this.blocks.push({
      name,
      hex: toHex(serializeBlock(block)),
      valid: outcome.ok,
      tip: state.tip.block.hash,
      reason: outcome.ok ? null : outcome.error.reason,
    });
    return outcome.ok;
  }

  /** A block of these transactions on the tip. */
  block(...txs: readonly ChainTx[]): Block {
    return this.chain.draft(this.chain.state.tip, this.chain.faucetScript, txs, 0n);
  }

  try(name: string, ...txs: readonly ChainTx[]): boolean {
    return this.submit(name, this.block(...txs));
  }

  fund(script: Uint8Array, value?: bigint): Funded {
    const funded = fund(this.chain, script, value);
    this.catchUp("funding block");
    return funded;
  }

  mine(count: number, to?: Uint8Array): void {
    const mined = this.chain.mine(count, to);
    if (!mined.ok) throw new Error(mined.error.reason);
    this.catchUp("empty block");
  }
}

/** The same block with other header fields or transactions, mined again; the merkle root follows the transactions. */
function remined(block: Block, change: Partial<BlockHeader> & { txs?: readonly ChainTx[] }): Block {
  const { txs = block.txs, ...header } = change;
  const root = change.merkleRoot ?? merkleRoot(txs.map((t) => t.txid)).root;
  return createBlock(mineHeader({ ...block.header, ...header, merkleRoot: root }), txs);
}

const withCoinbase = (block: Block, change: (tx: Tx) => Tx): Block => {
  const [coinbase, ...rest] = block.txs;
  if (!coinbase) throw new Error("a block without coinbase");
  return remined(block, { txs: [txToChainTx(change(coinbase.tx)), ...rest] });
};

const der = (digest: Uint8Array, key: KeyPair, hashType: number, highS = false): Uint8Array => {
  const signature = secp256k1.Signature.fromBytes(secp256k1.sign(digest, key.secret.reveal(), { prehash: false, lowS: true }));
  const n = secp256k1.Point.Fn.ORDER;
  const shaped = highS ? new secp256k1.Signature(signature.r, n - signature.s) : signature;
  return concatBytes(shaped.toBytes("der"), Uint8Array.of(hashType));
};

function htlcCases(s: Scenario): void {
  const lock = s.chain.state.tip.medianTime + 3_600;
  const contract = testContract(lock);
  const { redeem, claimer, refunder, script } = contract;
  const spend = (coin: Funded, sequence: number, lockTime: number, key: KeyPair, sig: (signature: Uint8Array) => Uint8Array): ChainTx => {
    const tx = draft(s.chain, [{ ...coin, sequence }], [{ value: coin.value - FEE, script: OUT }], lockTime);
    return txToChainTx(
      withInput(tx, 0, { scriptSig: sig(signScript(tx, 0, { value: coin.value, scriptCode: redeem }, key, s.chain.params.scheme)) }),
    );
  };
  const claim = (coin: Funded, key = claimer, secret: Uint8Array = SECRET): ChainTx =>
    spend(coin, 0xffffffff, lock, key, (sig) => claimScriptSig(sig, secret, redeem));
  const refund = (coin: Funded, lockTime = lock, sequence = 0xfffffffe, key = refunder): ChainTx =>
    spend(coin, sequence, lockTime, key, (sig) => refundScriptSig(sig, redeem));

  const claimed = s.fund(script);
  s.try("claim with a wrong secret", claim(claimed, claimer, sha256(SECRET)));
  s.try("claim with a secret of 31 bytes", claim(claimed, claimer, SECRET.subarray(1)));
  s.try("claim by the refund key", claim(claimed, refunder));
  s.try("claim whose output was changed after signing", txToChainTx({ ...claim(claimed).tx, outputs: [{ value: 1n, script: OUT }] }));
  s.try("good claim", claim(claimed));
  s.try("refund of a claimed payment", refund(claimed, lock, 0xffffffff));
  s.try("the same claim again", claim(claimed));

  const refunded = s.fund(script);
  s.try("refund before its lock time is reached", refund(refunded));
  s.try("refund with an earlier lock time", refund(refunded, s.chain.state.tip.medianTime - 10));
  s.try("refund without lock time", refund(refunded, 0));
  s.chain.time.add(3_700);
  s.mine(5);
  s.try("refund while the median time is still before the lock", refund(refunded));
  s.mine(6);
  s.try("refund with a final sequence", refund(refunded, lock, 0xffffffff));
  s.try("refund by the claim key", refund(refunded, lock, 0xfffffffe, claimer));
  s.try("refund whose lock time counts blocks", refund(refunded, s.chain.state.tip.height));
  s.try("good refund", refund(refunded));
}

function valueCases(s: Scenario): void {
  const key = testKey("owner");
  const coin = s.fund(payTo(key));
  const to = (value: bigint) => [{ value, script: OUT }];
  s.try("more value out than in", pay(s.chain, [coin], key, to(coin.value + 1n)));
  s.try("double spend in one block", pay(s.chain, [coin], key, to(coin.value - 1n)), pay(s.chain, [coin], key, to(coin.value - 2n)));
  s.try("the same input twice", pay(s.chain, [coin, coin], key, to(coin.value)));
  s.try("an output that does not exist", pay(s.chain, [{ ...coin, vout: 7 }], key, to(1n)));
  s.try("value above all money", pay(s.chain, [coin], key, [{ value: 21_000_001n * COIN, script: OUT }]));
  const parent = pay(s.chain, [coin], key, [{ value: coin.value - FEE, script: payTo(key) }]);
  const child = pay(s.chain, [{ txid: parent.txid, vout: 0, value: coin.value - FEE, script: payTo(key) }], key, to(1_000n));
  s.try("child before its parent", child, parent);
  s.try("parent and child", parent, child);
  s.mine(1, payTo(key));
  const [coinbase] = s.chain.state.tip.block.txs;
  if (!coinbase) throw new Error("no coinbase");
  const young = { txid: coinbase.txid, vout: 0, value: coinbase.tx.outputs[0]?.value ?? 0n, script: payTo(key) };
  s.try("coinbase spent in the next block", pay(s.chain, [young], key, to(1_000n)));
  s.mine(98);
  s.try("coinbase spent one block too early", pay(s.chain, [young], key, to(1_000n)));
  s.mine(1);
  s.try("coinbase spent when mature", pay(s.chain, [young], key, to(1_000n)));
  const paysTooMuch = withCoinbase(s.block(), (tx) => ({
    ...tx,
    outputs: tx.outputs.map((o, i) => (i === 0 ? { ...o, value: o.value + 1n } : o)),
  }));
  s.submit("coinbase of one unit too much", paysTooMuch);
  s.submit(
    "coinbase that takes less",
    withCoinbase(s.block(), (tx) => ({ ...tx, outputs: tx.outputs.map((o, i) => (i === 0 ? { ...o, value: 1n } : o)) })),
  );
  s.try("a lock time in the future", pay(s.chain, [{ ...s.fund(payTo(key)), sequence: 0 }], key, to(1_000n), s.chain.state.tip.height + 5));
}

function headerCases(s: Scenario): void {
  const { medianTime } = s.chain.state.tip;
  s.submit("time equal to the median", remined(s.block(), { time: medianTime }));
  s.submit("time just above the median", remined(s.block(), { time: medianTime + 1 }));
  s.submit("an easier target", remined(s.block(), { bits: 0x207ffffe }));
  s.submit("version 3", remined(s.block(), { version: 3 }));
  s.submit("version 4", remined(s.block(), { version: 4 }));
  s.submit("version with the sign bit", remined(s.block(), { version: 0xffffffff }));
  s.submit("wrong merkle root", remined(s.block(), { merkleRoot: new Uint8Array(32).fill(7) }));
  const good = s.block();
  let nonce = 0;
  while (createBlock({ ...good.header, nonce }, good.txs).hash < "8") nonce++;
  s.submit("not enough work", createBlock({ ...good.header, nonce }, good.txs));
  s.submit("no coinbase", remined(s.block(), { txs: [] }));
  s.submit("two coinbases", remined(good, { txs: [...good.txs, ...s.block().txs] }));
  s.submit(
    "wrong height in the coinbase",
    withCoinbase(s.block(), (tx) => withInput(tx, 0, { scriptSig: Uint8Array.of(2, 1, 1, 3, 3, 3) })),
  );
  const long = new Uint8Array(101);
  long.set(s.block().txs[0]?.tx.inputs[0]?.scriptSig ?? []);
  s.submit(
    "coinbase script of 101 bytes",
    withCoinbase(s.block(), (tx) => withInput(tx, 0, { scriptSig: long })),
  );
  const key = testKey("owner");
  const tx = pay(s.chain, [s.fund(payTo(key))], key, [{ value: 1_000n, script: OUT }]);
  const other = pay(s.chain, [s.fund(payTo(key))], key, [{ value: 1_000n, script: OUT }]);
  const three = s.block(tx, other);
  s.submit("last transaction repeated with the same merkle root", createBlock(three.header, [...three.txs, other]));
  s.submit("the block it was made from", three);
}

function relativeLockCases(s: Scenario): void {
  const key = testKey("owner");
  const spendAfter = (coin: Funded, sequence: number, version: number): ChainTx => {
    const tx = draft(s.chain, [{ ...coin, sequence }], [{ value: coin.value - FEE, script: OUT }], 0, version);
    const sig = der(legacyDigest(tx, 0, coin.script, SIGHASH_ALL), key, SIGHASH_ALL);
    return txToChainTx(withInput(tx, 0, { scriptSig: concatBytes(pushBytes(sig), pushBytes(key.publicKey)) }));
  };
  const byHeight = s.fund(payTo(key));
  s.try("relative lock of 3 blocks after 1", spendAfter(byHeight, 3, 2));
  s.mine(1);
  s.try("relative lock of 3 blocks after 2", spendAfter(byHeight, 3, 2));
  s.mine(1);
  s.try("relative lock of 3 blocks after 3", spendAfter(byHeight, 3, 2));
  const plain = s.fund(payTo(key));
  s.try("relative lock in a version 1 transaction", spendAfter(plain, 100, 1));
  const byTime = s.fund(payTo(key));
  s.try("relative lock of 1024 seconds at once", spendAfter(byTime, 0x400002, 2));
  s.chain.time.add(1_100);
  s.mine(12);
  s.try("relative lock of 1024 seconds after them", spendAfter(byTime, 0x400002, 2));

  const csv = concatBytes(Uint8Array.of(OP.OP_2, OP.CHECKSEQUENCEVERIFY));
  const locked = s.fund(p2shScript(hash160(csv)));
  const run = (sequence: number, version: number): ChainTx => {
    const tx = draft(s.chain, [{ ...locked, sequence }], [{ value: 1_000n, script: OUT }], 0, version);
    return txToChainTx(withInput(tx, 0, { scriptSig: pushBytes(csv) }));
  };
  s.mine(3);
  s.try("CHECKSEQUENCEVERIFY with a smaller sequence", run(1, 2));
  s.try("CHECKSEQUENCEVERIFY in version 1", run(2, 1));
  s.try("CHECKSEQUENCEVERIFY met", run(2, 2));
}

function signatureCases(s: Scenario): void {
  const key = testKey("owner");
  const other = testKey("other");
  const script = payTo(key);
  const sign = (
    name: string,
    code: Uint8Array,
    sigScript: (digest: (hashType: number) => Uint8Array, tx: Tx) => Uint8Array,
    outputs = 1,
  ): void => {
    const coin = s.fund(code);
    const tx = draft(
      s.chain,
      [coin],
      Array.from({ length: outputs }, () => ({ value: 1_000n, script: OUT })),
    );
    s.try(name, txToChainTx(withInput(tx, 0, { scriptSig: sigScript((t) => legacyDigest(tx, 0, code, t), tx) })));
  };
  const p2pkh = (sig: Uint8Array, pub = key.publicKey): Uint8Array => concatBytes(pushBytes(sig), pushBytes(pub));
  for (const type of [SIGHASH_ALL, SIGHASH_NONE, SIGHASH_SINGLE, 0x81, 0x82, 0x83, 0, 0x41, 0xff]) {
    sign(`hash type ${type}`, script, (digest) => p2pkh(der(digest(type), key, type)));
  }
  sign("SINGLE without a matching output", script, (digest) => p2pkh(der(digest(SIGHASH_SINGLE), key, SIGHASH_SINGLE)));
  sign("high S", script, (digest) => p2pkh(der(digest(SIGHASH_ALL), key, SIGHASH_ALL, true)));
  sign("signature with a superfluous zero", script, (digest) => {
    const sig = der(digest(SIGHASH_ALL), key, SIGHASH_ALL);
    const rLength = sig[3] ?? 0;
    const padded = concatBytes(Uint8Array.of(0x30, (sig[1] ?? 0) + 1, 2, rLength + 1, 0), sig.subarray(4));
    return p2pkh(padded);
  });
  const full = uncompressedPubkey(key.publicKey);
  const hybrid = Uint8Array.from(full);
  hybrid[0] = 6 + ((full[64] ?? 0) & 1);
  const badHybrid = Uint8Array.from(full);
  badHybrid[0] = 7 - ((full[64] ?? 0) & 1);
  for (const [name, pub] of [
    ["uncompressed", full],
    ["hybrid", hybrid],
    ["hybrid of the wrong parity", badHybrid],
  ] as const) {
    sign(`${name} key`, p2pkhScript(hash160(pub)), (digest) => p2pkh(der(digest(SIGHASH_ALL), key, SIGHASH_ALL), pub));
  }
  const multisig = concatBytes(
    Uint8Array.of(OP.OP_2),
    pushBytes(key.publicKey),
    pushBytes(other.publicKey),
    pushBytes(full),
    Uint8Array.of(OP.OP_1 + 2, OP.CHECKMULTISIG),
  );
  const two = (digest: (t: number) => Uint8Array, first: KeyPair, second: KeyPair, dummy: number = OP.OP_0): Uint8Array =>
    concatBytes(Uint8Array.of(dummy), pushBytes(der(digest(1), first, 1)), pushBytes(der(digest(1), second, 1)));
  sign("2 of 3 multisig", multisig, (digest) => two(digest, key, other));
  sign("2 of 3 multisig in the wrong order", multisig, (digest) => two(digest, other, other));
  sign("multisig with a dummy that is not empty", multisig, (digest) => two(digest, key, other, OP.OP_1));
  const separated = concatBytes(Uint8Array.of(OP.NOP, OP.CODESEPARATOR), script);
  sign("signature after a code separator", separated, (_, tx) => p2pkh(der(legacyDigest(tx, 0, script, SIGHASH_ALL), key, SIGHASH_ALL)));
}

function scriptLimitCases(s: Scenario): void {
  const run = (name: string, redeem: Uint8Array, scriptSig: Uint8Array): void => {
    const tx = draft(s.chain, [s.fund(redeem)], [{ value: 1_000n, script: OUT }]);
    s.try(name, txToChainTx(withInput(tx, 0, { scriptSig })));
  };
  const filled = (n: number, byte: number) => new Uint8Array(n).fill(byte);
  run("push of 520 bytes", Uint8Array.of(OP.DROP, OP.OP_1), pushBytes(filled(520, 1)));
  run("push of 521 bytes", Uint8Array.of(OP.DROP, OP.OP_1), pushBytes(filled(521, 1)));
  run("201 operations", concatBytes(filled(201, OP.NOP), Uint8Array.of(OP.OP_1)), new Uint8Array(0));
  run("202 operations", concatBytes(filled(202, OP.NOP), Uint8Array.of(OP.OP_1)), new Uint8Array(0));
  run("1000 stack items", Uint8Array.of(OP.OP_1), filled(999, OP.OP_1));
  run("1001 stack items", Uint8Array.of(OP.OP_1), filled(1_000, OP.OP_1));
  run("a disabled opcode that is not run", Uint8Array.of(OP.OP_0, OP.IF, OP.CAT, OP.ENDIF, OP.OP_1), new Uint8Array(0));
  run("a reserved opcode that is not run", Uint8Array.of(OP.OP_0, OP.IF, OP.VER, OP.ENDIF, OP.OP_1), new Uint8Array(0));
  run("VERIF that is not run", Uint8Array.of(OP.OP_0, OP.IF, OP.VERIF, OP.ENDIF, OP.OP_1), new Uint8Array(0));
  run(
    "scriptSig of 10,001 bytes",
    Uint8Array.of(OP.OP_1),
    concatBytes(...Array.from({ length: 20 }, () => pushBytes(filled(498, 1))), filled(1, OP.NOP)),
  );
  run(
    "P2SH with a scriptSig that does more than push",
    p2shScript(hash160(Uint8Array.of(OP.OP_1))),
    concatBytes(Uint8Array.of(OP.NOP), pushBytes(Uint8Array.of(OP.OP_1))),
  );
  run("P2SH of a true script", p2shScript(hash160(Uint8Array.of(OP.OP_1))), pushBytes(Uint8Array.of(OP.OP_1)));
  run("P2SH of another script", p2shScript(hash160(Uint8Array.of(OP.OP_1))), pushBytes(Uint8Array.of(OP.OP_2)));
  const key = testKey("owner");
  const manySigOps = pay(
    s.chain,
    [s.fund(payTo(key))],
    key,
    Array.from({ length: 21 }, () => ({ value: 1n, script: filled(1_000, OP.CHECKSIG) })),
  );
  s.try("block of 21,000 signature operations", manySigOps);
  const big = (n: number): ChainTx =>
    pay(s.chain, [s.fund(payTo(key))], key, [{ value: 1n, script: concatBytes(Uint8Array.of(OP.RETURN), filled(n, 0)) }]);
  s.try("block above 1,000,000 bytes without witness", big(1_000_000));
  s.try("block below it", big(990_000));
}

function segwitCases(s: Scenario): void {
  const key = testKey("owner");
  const keyHash = hash160(key.publicKey);
  const wpkh = p2wpkhScript(keyHash);
  const code = p2pkhScript(keyHash);
  const spend = (name: string, coin: Funded, part: (tx: Tx) => { scriptSig?: Uint8Array; witness?: readonly Uint8Array[] }): boolean => {
    const tx = draft(s.chain, [coin], [{ value: 1_000n, script: OUT }]);
    return s.try(name, txToChainTx(withInput(tx, 0, part(tx))));
  };
  const sig = (tx: Tx, value: bigint, scriptCode = code, type = SIGHASH_ALL): Uint8Array =>
    der(segwitV0Digest(tx, 0, scriptCode, value, type), key, type);
  const coin = s.fund(wpkh);
  spend("P2WPKH without a witness", coin, () => ({}));
  spend("P2WPKH signed for another value", coin, (tx) => ({ witness: [sig(tx, coin.value + 1n), key.publicKey] }));
  spend("P2WPKH signed the old way", coin, (tx) => ({ witness: [der(legacyDigest(tx, 0, code, 1), key, 1), key.publicKey] }));
  spend("P2WPKH with a scriptSig", coin, (tx) => ({ scriptSig: Uint8Array.of(OP.OP_1), witness: [sig(tx, coin.value), key.publicKey] }));
  spend("P2WPKH with a third witness element", coin, (tx) => ({ witness: [new Uint8Array(1), sig(tx, coin.value), key.publicKey] }));
  spend("good P2WPKH", coin, (tx) => ({ witness: [sig(tx, coin.value), key.publicKey] }));
  for (const type of [SIGHASH_NONE, SIGHASH_SINGLE, 0x81, 0x82, 0x83]) {
    const c = s.fund(wpkh);
    spend(`P2WPKH with hash type ${type}`, c, (tx) => ({ witness: [sig(tx, c.value, code, type), key.publicKey] }));
  }
  const nested = s.fund(p2shScript(hash160(wpkh)));
  spend("P2WPKH in P2SH with a second push", nested, (tx) => ({
    scriptSig: concatBytes(Uint8Array.of(OP.OP_1), pushBytes(wpkh)),
    witness: [sig(tx, nested.value), key.publicKey],
  }));
  spend("good P2WPKH in P2SH", nested, (tx) => ({ scriptSig: pushBytes(wpkh), witness: [sig(tx, nested.value), key.publicKey] }));

  const contract = testContract(1_600_000_000);
  const wsh = s.fund(p2wshScript(sha256(contract.redeem)));
  const claim = (secret: Uint8Array) => (tx: Tx) => {
    const digest = segwitV0Digest(tx, 0, contract.redeem, wsh.value, SIGHASH_ALL);
    return { witness: [der(digest, contract.claimer, SIGHASH_ALL), secret, new Uint8Array(0), contract.redeem] };
  };
  spend("P2WSH contract with a wrong secret", wsh, claim(sha256(SECRET)));
  spend("P2WSH contract, another script", wsh, (tx) => ({ witness: [...claim(SECRET)(tx).witness.slice(0, -1), Uint8Array.of(OP.OP_1)] }));
  spend("P2WSH contract, empty witness", wsh, () => ({}));
  spend("good P2WSH contract claim", wsh, claim(SECRET));
  spend("witness for an output that takes none", s.fund(Uint8Array.of(OP.OP_1)), () => ({ witness: [Uint8Array.of(1)] }));
  spend(
    "a later witness version is free to spend",
    s.fund(concatBytes(Uint8Array.of(OP.OP_16), pushBytes(new Uint8Array(32).fill(1)))),
    () => ({}),
  );
  spend("version 0 of a wrong length", s.fund(concatBytes(Uint8Array.of(OP.OP_0), pushBytes(new Uint8Array(21).fill(1)))), () => ({
    witness: [Uint8Array.of(1)],
  }));

  const unsafe = s.fund(wpkh);
  const draftTx = draft(s.chain, [unsafe], [{ value: 1_000n, script: OUT }]);
  const tx = txToChainTx(withInput(draftTx, 0, { witness: [sig(draftTx, unsafe.value), key.publicKey] }));
  const block = s.block(tx);
  s.submit(
    "witness without a commitment",
    withCoinbase(block, (cb) => ({ ...withInput(cb, 0, { witness: [] }), outputs: cb.outputs.slice(0, 1) })),
  );
  s.submit(
    "coinbase without its reserved witness value",
    withCoinbase(block, (cb) => withInput(cb, 0, { witness: [] })),
  );
  s.submit(
    "reserved value of 31 bytes",
    withCoinbase(block, (cb) => withInput(cb, 0, { witness: [new Uint8Array(31)] })),
  );
  s.submit(
    "another reserved value",
    withCoinbase(block, (cb) => withInput(cb, 0, { witness: [new Uint8Array(32).fill(1)] })),
  );
  s.submit("good block with a witness", block);
  s.submit(
    "no commitment and no witness",
    withCoinbase(s.block(), (cb) => ({ ...withInput(cb, 0, { witness: [] }), outputs: cb.outputs.slice(0, 1) })),
  );
}

function reorgCases(s: Scenario): void {
  const key = testKey("owner");
  const coin = s.fund(payTo(key));
  const fork = s.chain.state.tip;
  const to = (value: bigint) => [{ value, script: OUT }];
  s.try("a spend on the first branch", pay(s.chain, [coin], key, to(1_000n)));
  s.mine(1);
  const side1 = s.chain.draft(fork, s.chain.faucetScript, [pay(s.chain, [coin], key, to(2_000n))], 0n);
  s.submit("a conflicting spend on the second branch", side1);
  const entry1 = s.chain.state.entry(side1.hash);
  if (!entry1) throw new Error("the side block is unknown");
  const side2 = s.chain.draft(entry1, s.chain.faucetScript, [], 0n);
  s.submit("the second branch is as long", side2);
  const entry2 = s.chain.state.entry(side2.hash);
  if (!entry2) throw new Error("the side block is unknown");
  s.submit("the second branch is longer", s.chain.draft(entry2, s.chain.faucetScript, [], 0n));
  const thief = testKey("thief");
  const unsigned = draft(s.chain, [coin], to(3_000n));
  const sig = der(legacyDigest(unsigned, 0, coin.script, SIGHASH_ALL), thief, SIGHASH_ALL);
  const stolen = withInput(unsigned, 0, { scriptSig: concatBytes(pushBytes(sig), pushBytes(thief.publicKey)) });
  const bad1 = s.chain.draft(fork, s.chain.faucetScript, [txToChainTx(stolen)], 0n);
  s.submit("a theft on a third branch, not yet looked at", bad1);
  s.try("the spend again on the winning branch", pay(s.chain, [coin], key, to(4_000n)));
}

/** Blocks good and bad on a chain of one kind, each with our verdict. */
export function blockCases(kind: "legacy" | "segwit"): readonly JudgedBlock[] {
  const s = new Scenario(kind);
  const parts = [htlcCases, valueCases, headerCases, relativeLockCases, signatureCases, scriptLimitCases];
  for (const part of kind === "segwit" ? [...parts, segwitCases, reorgCases] : [...parts, reorgCases]) part(s);
  return s.blocks;
}

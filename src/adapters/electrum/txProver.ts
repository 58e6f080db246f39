import { hash } from "node:crypto";
import { type RawTx, rawTxid } from "../../chainIndex/rawTx.ts";
import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import { checkInclusion, type MerkleFault } from "../../core/proof/merkleBranch.ts";
import { reversed, toHex } from "../../core/util/bytes.ts";
import type { Tx } from "../../core/utxo/tx.ts";
import { hasMoreThanId, parseTx, serializeTx, type TxFormat, withoutLongWitness } from "../../core/utxo/txCodec.ts";
import type { Clock } from "../../ports/clock.ts";
import { type BranchAnswer, parseBranch, parsePlacedTx, parseRawTx } from "./answers.ts";
import { serverFaultText } from "./fault.ts";
import { firstToTell } from "./firstToTell.ts";
import type { HeaderReader } from "./headerReader.ts";
import { Patience } from "./patience.ts";
import { ProofPace } from "./proofPace.ts";
import type { RemoteServer } from "./remoteServer.ts";

/** So often servers were lost over one transaction before it counts as one that they do not give. Once may be chance. */
const TWICE = 2;
/** Transactions remembered over which servers were lost. */
const MAX_TOO_MUCH = 1_000;

/**
 * Longest witness that is kept, items, and largest transaction with one, bytes: more has no transaction that mempools take (Bitcoin Core's
 * `MAX_STANDARD_TX_WEIGHT`; of 2-of-3 multisignature a thousand inputs fit).
 */
const MAX_WITNESS_ITEMS = 5_000;
const MAX_WITNESSED_BYTES = 400_000;

/** What the first transaction of a block spends. */
const NOTHING = "00".repeat(32);

/** Version 8 of a witness, and 32 bytes: what the block-final transaction of Litecoin pays first (LIP-3). */
const HOG_ADDRESS = [0x58, 0x20];
const HOG_ADDRESS_BYTES = 34;

/** The mark of the block-final transaction is no part of an id: whoever gives the bytes could put it on any other, which then may not be spent for long. */
function isMismarked({ hogEx, outputs }: Tx): boolean {
  const script = outputs[0]?.script;
  return hogEx === true && !(script?.length === HOG_ADDRESS_BYTES && HOG_ADDRESS.every((byte, i) => script[i] === byte));
}

const bytesOf = (txid: string): string => `bytes ${txid}`;
const proofOf = (txid: string): string => `proof ${txid}`;
const sha256 = (data: Uint8Array): Buffer => hash("sha256", data, "buffer");
const idOfBytes = (bytes: Uint8Array): string => toHex(reversed(sha256(sha256(bytes))));

/** The last version of Zcash's marked transactions whose id is made of all bytes (ZIP-244), and the mark. */
const LAST_WHOLE_VERSION = 4;
const OVERWINTERED = 0x80000000;

/**
 * `unclear`: the branch leads to the block, and alone could be that of something else (CVE-2017-12842). `unasked`: somebody who might prove it refused
 * so much of the block that it is to be asked later.
 */
export type Inclusion = "proven" | "unclear" | "unproven" | "unasked";

/** Reads transactions and proves that they are in a block. */
export class TxProver {
  readonly #format: TxFormat;
  readonly #reader: HeaderReader;
  readonly #clock: Clock;
  /** With those who say that a transaction is in a block of ours and cannot prove it. */
  readonly #patience: Patience;
  /** How often servers were lost over the bytes of a transaction, or its proof, since these were given last. */
  readonly #tooMuch = new Map<string, number>();
  readonly #pace: ProofPace;

  constructor(format: TxFormat, reader: HeaderReader, clock: Clock) {
    this.#format = format;
    this.#reader = reader;
    this.#clock = clock;
    this.#patience = new Patience(() => clock.nowMs());
    this.#pace = new ProofPace(() => clock.nowMs());
  }

  /**
   * The bytes of a transaction, from the first of `servers` that gives them; null: none does. Bytes that cannot be read prove nothing
   * against who gave them: daemons also know forms this node does not (Litecoin's that are nothing but extension-block data).
   */
  fetch(txid: string, servers: readonly RemoteServer[]): Promise<RawTx | null> {
    return firstToTell(this.#clock, servers, (server) => this.#fetchFrom(server, txid));
  }

  async #fetchFrom(server: RemoteServer, txid: string): Promise<RawTx | null> {
    const raw = await server.ask("blockchain.transaction.get", [txid], parseRawTx);
    if (!raw.ok) {
      if (raw.error.kind === "too_much") this.#lostOver(bytesOf(txid));
      return null;
    }
    const bytes = withoutLongWitness(raw.value, this.#format, MAX_WITNESS_ITEMS, MAX_WITNESSED_BYTES);
    // To read megabytes takes longer than to send them.
    const isOther = bytes.length > MAX_WITNESSED_BYTES && this.#isWholeId(bytes) && idOfBytes(bytes) !== txid;
    const tx = isOther ? null : this.read(bytes);
    if (tx?.txid === txid) {
      this.#tooMuch.delete(bytesOf(txid));
      return tx;
    }
    if (isOther || tx !== null) server.contradicted(`the bytes it gives for transaction ${txid} are not that transaction's`);
    return null;
  }

  #lostOver(what: string): void {
    if (this.#tooMuch.size >= MAX_TOO_MUCH) this.#tooMuch.clear();
    this.#tooMuch.set(what, (this.#tooMuch.get(what) ?? 0) + 1);
  }

  /** Whether servers are lost each time they are asked for a transaction or its proof: it is too large for the line, or they work on it for too long. */
  isTooMuch(txid: string): boolean {
    return [bytesOf(txid), proofOf(txid)].some((what) => (this.#tooMuch.get(what) ?? 0) >= TWICE);
  }

  /** Whether the id of a transaction is made of all of its bytes: not of one with a witness, nor of Zcash's newer ones. */
  #isWholeId(bytes: Uint8Array): boolean {
    if (this.#format.kind === "bitcoin") return bytes[4] !== 0;
    const header = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
    return header < OVERWINTERED || header - OVERWINTERED <= LAST_WHOLE_VERSION;
  }

  /** Null: they are no transaction of this coin that this node can read. What no id covers is left out where it is a burden. */
  read(given: Uint8Array): RawTx | null {
    const raw = withoutLongWitness(given, this.#format, MAX_WITNESS_ITEMS, MAX_WITNESSED_BYTES);
    const tx = parseTx(raw, this.#format);
    return tx.ok && !isMismarked(tx.value) ? { txid: rawTxid(tx.value, raw), tx: tx.value, raw } : null;
  }

  /**
   * Whether one of `servers`, which all say so, proves that a transaction is in the block of a checked header. Those whose proof
   * does not hold are dropped, unless they follow another branch just now.
   */
  async isIn(tx: RawTx, height: number, header: BlockHeader, servers: readonly RemoteServer[]): Promise<Inclusion> {
    let told: Inclusion = "unproven";
    const proven = await firstToTell(this.#clock, servers, async (server, isOver) => {
      const said = await this.#asksForIt(server, tx, height, header, isOver);
      if (said === "unclear" || (said === "unasked" && told === "unproven")) told = said;
      return said === "proven" ? said : null;
    });
    return proven ?? told;
  }

  async #asksForIt(server: RemoteServer, tx: RawTx, height: number, header: BlockHeader, isOver: () => boolean): Promise<Inclusion> {
    let said: Inclusion = "unasked";
    await this.#pace.run(server, header, async () => {
      if (isOver()) return null;
      said = await this.#provesIt(server, tx, height, header);
      return server.state === "connected" ? said !== "unproven" : null;
    });
    return said;
  }

  async #provesIt(server: RemoteServer, tx: RawTx, height: number, header: BlockHeader, isAgain = false): Promise<Inclusion> {
    const answer = await server.ask("blockchain.transaction.get_merkle", [tx.txid, height], parseBranch);
    if (!answer.ok && answer.error.kind === "too_much") this.#lostOver(proofOf(tx.txid));
    if (!answer.ok && answer.error.kind !== "rpc") return "unproven";
    this.#tooMuch.delete(proofOf(tx.txid));
    const flaw = answer.ok ? this.flaw(tx, header, answer.value) : null;
    if (answer.ok && flaw === null) return "proven";
    if (answer.ok && flaw?.kind === "NodeIsTx") {
      if ((await this.firstTx(server, height, header))?.depth === answer.value.branch.length) return "proven";
      // What it says leads to the block; that it proves nothing is whoever's doing who made the block, or one of its transactions.
      server.suspect(`its branch for transaction ${tx.txid} could be that of another`);
      return "unclear";
    }
    const own = await this.#reader.headerOf(server, height);
    if (!own.ok || own.value.hash !== header.hash) return "unproven";
    // It may have come over to our chain after it gave the branch.
    if (answer.ok && !isAgain) return this.#provesIt(server, tx, height, header, true);
    const why = answer.ok ? `its branch proves nothing (${flaw?.kind})` : `it does not prove it: ${serverFaultText(answer.error)}`;
    this.#unproven(server, tx.txid, height, header, why, answer.ok);
    return "unproven";
  }

  /** The first transaction of a block, as a server proves it. How long its branch is tells how deep all stand. Null: the server does not prove it. */
  async firstTx(server: RemoteServer, height: number, header: BlockHeader): Promise<{ readonly tx: RawTx; readonly depth: number } | null> {
    const placed = await server.ask("blockchain.transaction.id_from_pos", [height, 0, true], parsePlacedTx);
    if (!placed.ok) return null;
    const { txid, branch } = placed.value;
    const tx = await this.fetch(txid, [server]);
    return tx !== null && this.isFirst(tx, header, branch) ? { tx, depth: branch.length } : null;
  }

  /**
   * Whether a branch proves the first transaction of a block, and with it how deep all stand. The coinbase cannot be mistaken: who passes a
   * node off for it, or it for a node, needs a hash with 27 bytes of zero.
   */
  isFirst(tx: RawTx, header: BlockHeader, branch: readonly string[]): boolean {
    const flaw = this.flaw(tx, header, { branch, pos: 0 });
    return flaw === null || (flaw.kind === "NodeIsTx" && tx.tx.inputs[0]?.txid === NOTHING);
  }

  /** Why a branch does not prove that a transaction is in the block of a header; null: it does. */
  flaw({ txid, tx, raw }: RawTx, header: BlockHeader, { branch, pos }: BranchAnswer): MerkleFault | null {
    const strippedBytes = hasMoreThanId(tx) ? serializeTx(tx, { witness: false }).length : raw.length;
    const checked = checkInclusion({ txid, strippedBytes, branch, pos }, header.merkleRoot);
    return checked.ok ? null : checked.error;
  }

  #unproven(server: RemoteServer, txid: string, height: number, header: BlockHeader, why: string, atOnce: boolean): void {
    if (this.#patience.isOver(`${server.name} ${txid} ${header.hash}`) || atOnce)
      server.contradicted(`it says transaction ${txid} is in block ${height}: ${why}`);
  }
}

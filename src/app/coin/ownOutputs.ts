import { equalBytes } from "../../core/util/bytes.ts";
import { p2pkScript } from "../../core/utxo/outputScript.ts";
import { pushesOf } from "../../core/utxo/script.ts";
import { isSignedInput, type SighashScheme } from "../../core/utxo/signInput.ts";
import { filterUnspents, type Unspent, withUnspents } from "../../core/utxo/sortedUnspents.ts";
import { type OutPoint, PEG_OUT_CONFS, type Tx, type TxInput } from "../../core/utxo/tx.ts";
import { parseTx, type TxFormat, txid } from "../../core/utxo/txCodec.ts";
import { isAged } from "../../core/utxo/txTemplate.ts";
import type { SeenOutput, SeenTx, UtxoChain } from "../../ports/chain.ts";
import { type Effect, MAX_CLUSTER, type Pool, poolOf, unspentsOf } from "./coinPool.ts";
import { ListedOutputs } from "./listedOutputs.ts";
import { OwnClusters } from "./ownClusters.ts";

export type OwnOutputsDeps = {
  readonly chain: UtxoChain;
  readonly format: TxFormat;
  readonly scheme: SighashScheme;
  readonly publicKey: Uint8Array;
  /** Own output scripts; the first receives change. */
  readonly scripts: readonly Uint8Array[];
  readonly matureConfs: number;
  /** Its blocks take no transaction whose lock time is long past (`isAged`). */
  readonly paysInterest: boolean;
  /** Of other tickers that have an output script of these. */
  readonly beside: () => readonly Pick<OwnOutputs, "lockedBy">[];
};

/** The own outputs of one coin: which can be spent, and which are taken by stored transactions. */
export class OwnOutputs {
  readonly #deps: OwnOutputsDeps;
  /** Outputs used by own signed transactions → the transaction's id; until `unlock`, whatever a reorg does meanwhile. */
  readonly #locked = new LockedOutputs();
  /** Own signed transactions whose change is counted on while the chain does not list them. */
  readonly #signed = new Map<string, Tx>();
  /** All that have taken outputs and still hold them, whether or not their change is counted on. */
  readonly #holding = new Map<string, Tx>();
  /** Those that have taken outputs and pay nobody else: whether or not they confirm, what they spend stays ours. */
  readonly #returning = new Set<string>();

  /** What `isOurs` found, by the bytes as the chain index keeps them: every look at the funds asks for all that is unconfirmed. */
  readonly #judged = new WeakMap<Uint8Array, boolean>();
  /** What the chain listed last, script by script, and that sorted out. */
  #answers: readonly (readonly SeenOutput[])[] = [];
  readonly #listed = new ListedOutputs();

  constructor(deps: OwnOutputsDeps) {
    this.#deps = deps;
  }

  /** Outputs that may be spent now or as soon as the backend lists the own transaction that makes them. */
  pool(): Pool {
    const clusters = this.#clusters();
    const isTaken = this.#takenOnes();
    const listed = filterUnspents(this.#own().unspent, (o) => !isTaken(o) && this.#isSpendable(o, clusters));
    const awaited: Unspent[] = [];
    const excluded = new Map<string, boolean>();
    for (const [id, tx] of this.#signed) {
      if (!this.#isUnlisted(id) || this.#isExcluded(id, tx, excluded)) continue;
      tx.outputs.forEach((o, vout) => {
        const outPoint = { txid: id, vout };
        if (this.#isOwn(o.script) && !isTaken(outPoint)) awaited.push({ ...outPoint, ...o });
      });
    }
    return poolOf(withUnspents<Unspent>(listed, awaited), clusters);
  }

  /** Those of a pool the backend has: what can be built on now. */
  ready({ confirmed, change, clusters }: Pool): Pool {
    return { confirmed, change: filterUnspents(change, (u) => !this.#isUnlisted(u.txid)), clusters };
  }

  /** Value that exists but cannot be spent yet: immature, unconfirmed from others, or on its way back to ourselves in what is not listed. */
  unspendable(): bigint {
    const clusters = this.#clusters();
    const isTaken = this.#takenOnes();
    let sum = 0n;
    for (const o of this.#own().unspent) if (isTaken(o) ? this.#isReturning(o) : !this.#isSpendable(o, clusters)) sum += o.value;
    return sum;
  }

  /** Whether what has taken an output pays all of it back, and is not counted on. */
  #isReturning(outPoint: OutPoint): boolean {
    const user = this.#locked.by(outPoint);
    return user !== undefined && this.#returning.has(user) && !this.#signed.has(user);
  }

  /** Value of what own transactions pay back that are in no block and hang together with as many others as may be. */
  waitingChange(): bigint {
    const clusters = this.#clusters();
    const isTaken = this.#takenOnes();
    const waiting = this.#own().unspent.filter(
      (o) => !o.block && clusters.sizeOf(o.txid) >= MAX_CLUSTER && this.isOurs(o.txid) && !isTaken(o),
    );
    return waiting.reduce((sum, { value }) => sum + value, 0n);
  }

  /** The stored transaction of this ticker that has taken an output. */
  lockedBy(outPoint: OutPoint): string | undefined {
    return this.#locked.by(outPoint);
  }

  /** Whether a stored transaction has taken an output, also of another ticker that can spend it. */
  #takenOnes(): (outPoint: OutPoint) => boolean {
    const others = this.#deps.beside();
    return (o) => this.#locked.by(o) !== undefined || others.some((other) => other.lockedBy(o) !== undefined);
  }

  /** Takes the inputs of a signed own transaction and counts on its own outputs. */
  lock(tx: Tx): void {
    const id = txid(tx);
    for (const input of tx.inputs) this.#locked.set(input, id);
    this.#signed.set(id, tx);
    this.#holding.set(id, tx);
    if (tx.outputs.every((o) => this.#isOwn(o.script))) this.#returning.add(id);
  }

  /** Undoes `lock`. */
  unlock(tx: Tx): void {
    const id = txid(tx);
    for (const input of tx.inputs) if (this.#locked.by(input) === id) this.#locked.delete(input);
    this.#returning.delete(id);
    this.#holding.delete(id);
    this.dropChange(tx);
  }

  /** Own outputs of a transaction that may never confirm count only once the chain lists them. */
  dropChange(tx: Tx): void {
    this.#signed.delete(txid(tx));
  }

  /** The own output an input of a stored transaction spends, if the chain or the outbox knows it. */
  source(input: OutPoint): Unspent | undefined {
    const listed = this.#own().at(input);
    const output = this.#signed.get(input.txid)?.outputs[input.vout];
    return listed ?? (output && this.#isOwn(output.script) ? { ...input, ...output } : undefined);
  }

  /** Whether an output is listed, or is counted on and everything that it comes of is: what a reorganisation left nothing of never is, nor is what spends it. */
  stands(input: OutPoint, depth = MAX_CLUSTER): boolean {
    if (this.#own().at(input)) return true;
    const parent = depth > 0 && this.source(input) ? this.#signed.get(input.txid) : undefined;
    return parent?.inputs.every((i) => this.stands(i, depth - 1)) ?? false;
  }

  /** An own transaction of a coin with interest, not forgotten, that was in no block for so long that none takes it any more. */
  aged(id: string): Tx | null {
    const { chain, paysInterest } = this.#deps;
    const tx = paysInterest ? this.#holding.get(id) : undefined;
    if (!tx || chain.tx(id)?.block) return null;
    const { state, tip } = chain.status();
    return state === "ready" && tip !== null && isAged(tx.lockTime, tip.medianTimePastSec) ? tx : null;
  }

  /** What a transaction would do that was signed some time ago, or elsewhere; null: it spends nothing that is free. */
  effectOf(tx: Tx): Effect | null {
    const keyOf = ({ txid, vout }: OutPoint): string => `${txid}:${vout}`;
    const inputs = new Set(tx.inputs.map(keyOf));
    const spent = filterUnspents(unspentsOf(this.pool()), (u) => inputs.has(keyOf(u)));
    const last = tx.outputs.at(-1);
    return spent.length === 0 ? null : { tx, spent, change: last && this.#isOwn(last.script) ? last.value : 0n };
  }

  /** The own signed transaction, other than `tx`, that has taken an input of it; null if there is none. */
  takenBy(tx: Tx): string | null {
    const id = txid(tx);
    const ledgers = [this, ...this.#deps.beside()];
    const taken = tx.inputs.flatMap((i) => ledgers.map((ledger) => ledger.lockedBy(i))).find((by) => by !== undefined && by !== id);
    return taken ?? null;
  }

  /** The ids of own transactions that use an output of this one. */
  builtOn(tx: Tx): ReadonlySet<string> {
    const id = txid(tx);
    const users = new Set<string>();
    for (const ledger of [this, ...this.#deps.beside()])
      for (const vout of tx.outputs.keys()) {
        const user = ledger.lockedBy({ txid: id, vout });
        if (user !== undefined) users.add(user);
      }
    for (const { spentBy } of this.#own().of(id)) if (spentBy) users.add(spentBy.txid);
    return users;
  }

  /**
   * The id of another transaction, in a block, that spends an input of this one; null if there is none. Strangers who show a chain may have
   * made up both, but not the own signature.
   */
  conflictOf(tx: Tx): string | null {
    const id = txid(tx);
    for (const input of tx.inputs) {
      const output = this.#own().at(input);
      const spentBy = output?.spentBy;
      const isSpent = output && spentBy?.block && spentBy.txid !== id;
      if (isSpent && (!this.#deps.chain.guard || this.#isSignedSpend(spentBy.txid, output))) return spentBy.txid;
    }
    return null;
  }

  #isSignedSpend(id: string, output: SeenOutput): boolean {
    const { chain, format, publicKey, scheme } = this.#deps;
    const tx = parseTx(chain.tx(id)?.raw ?? new Uint8Array(0), format);
    if (!tx.ok) return false;
    const index = tx.value.inputs.findIndex((i) => isOutPoint(i, output));
    return index !== -1 && isSignedInput(tx.value, index, output, publicKey, scheme);
  }

  /** Whether every input of a transaction the backend has is signed with the own key alone. */
  isOurs(id: string): boolean {
    const seen = this.#deps.chain.tx(id);
    if (!seen) return false;
    let isOurs = this.#judged.get(seen.raw);
    if (isOurs === undefined) {
      const tx = parseTx(seen.raw, this.#deps.format);
      isOurs = tx.ok && tx.value.inputs.every((i) => isSignedBy(i, this.#deps.publicKey) || this.#isOfBareKey(i));
      // An output that a first scan has still to find may be of the bare key.
      if (isOurs || !tx.ok || !tx.value.inputs.some(isBareSignature)) this.#judged.set(seen.raw, isOurs);
    }
    return isOurs;
  }

  /** Whether an input spends an output of the bare own key: its signature names no key. */
  #isOfBareKey(input: TxInput): boolean {
    const spent = isBareSignature(input) ? this.#own().at(input) : undefined;
    return spent !== undefined && equalBytes(spent.script, p2pkScript(this.#deps.publicKey));
  }

  /**
   * Whether every input of a transaction spends an own output and has the own signature over all of it, with nothing beside: what strangers
   * make up has none.
   */
  isSigned(tx: Tx): boolean {
    return tx.inputs.every((_, index) => this.isSignedAt(tx, index));
  }

  /** The same of one input: verifying a signature takes a millisecond and more, and a payment of all there is has hundreds. */
  isSignedAt(tx: Tx, index: number): boolean {
    const { publicKey, scheme } = this.#deps;
    const input = tx.inputs[index];
    const source = input && this.source(input);
    return input !== undefined && source !== undefined && isBare(input, publicKey) && isSignedInput(tx, index, source, publicKey, scheme);
  }

  /** Transactions that pay or spend own outputs and are in no block up to this height, each once. */
  touchedSince(height: number): readonly SeenTx[] {
    const ids = this.#own().all.flatMap(({ txid: id, spentBy }) => (spentBy ? [id, spentBy.txid] : [id]));
    const found = [...new Set(ids)].flatMap((id) => this.#deps.chain.tx(id) ?? []);
    return found.filter(({ block }) => block === null || block.height > height);
  }

  #own(): ListedOutputs {
    const answers = this.#deps.scripts.map((s) => this.#deps.chain.outputs(s)).filter((answer) => answer.length > 0);
    if (answers.length !== this.#answers.length || answers.some((answer, i) => answer !== this.#answers[i])) {
      this.#answers = answers;
      this.#listed.update(answers.length === 1 && answers[0] ? answers[0] : answers.flat());
    }
    return this.#listed;
  }

  /** Only between the two depths the bytes are looked at: a miner has thousands of rewards. */
  #isMature(id: string, confs: number): boolean {
    if (confs >= this.#deps.matureConfs) return true;
    const seen = confs >= PEG_OUT_CONFS ? this.#deps.chain.tx(id) : null;
    const tx = seen && parseTx(seen.raw, this.#deps.format);
    return tx?.ok === true && tx.value.hogEx === true;
  }

  #isUnlisted(id: string): boolean {
    return this.#signed.has(id) && !this.#deps.chain.tx(id);
  }

  #isOwn(script: Uint8Array): boolean {
    return this.#deps.scripts.some((s) => equalBytes(s, script));
  }

  /**
   * Whether the backend has another transaction in the place of a signed one, or of one that it hangs on: the same under another id, whose
   * outputs it lists, or what cancels it; or no block takes one of them any more. @param known of those judged before
   */
  #isExcluded(id: string, tx: Tx, known: Map<string, boolean>): boolean {
    let isExcluded = known.get(id);
    if (isExcluded !== undefined) return isExcluded;
    const isOut = (input: TxInput): boolean => {
      const spentBy = this.#own().at(input)?.spentBy;
      if (spentBy) return spentBy.txid !== id;
      const parent = this.#isUnlisted(input.txid) ? this.#signed.get(input.txid) : undefined;
      return parent !== undefined && this.#isExcluded(input.txid, parent, known);
    };
    isExcluded = this.aged(id) !== null || tx.inputs.some(isOut);
    known.set(id, isExcluded);
    return isExcluded;
  }

  /** Whether one that the chain shows in no spend, and that no stored transaction has taken, can be spent. */
  #isSpendable(o: SeenOutput, clusters: OwnClusters): boolean {
    if (o.block) return !o.coinbase || this.#isMature(o.txid, this.#deps.chain.confirmations(o.block));
    return clusters.sizeOf(o.txid) < MAX_CLUSTER;
  }

  /** Own transactions that are in no block. One of others, or of a contract, counts as full: nothing is built on it. */
  #clusters(): OwnClusters {
    const clusters = new OwnClusters();
    const edges: [string, string][] = [];
    for (const o of this.#own().unconfirmed) {
      const spender = o.spentBy && !o.spentBy.block ? o.spentBy.txid : null;
      if (!o.block) clusters.add(o.txid, this.isOurs(o.txid) ? 1 : MAX_CLUSTER);
      if (spender !== null) clusters.add(spender);
      if (!o.block && spender !== null) edges.push([o.txid, spender]);
    }
    for (const [id, tx] of this.#signed) {
      if (!this.#isUnlisted(id)) continue;
      clusters.add(id);
      for (const input of tx.inputs) edges.push([input.txid, id]);
    }
    for (const [parent, child] of edges) clusters.join(parent, child);
    return clusters;
  }
}

/** Who uses which output. By transaction, then index: no key has to be made for a question. */
class LockedOutputs {
  readonly #byTx = new Map<string, Map<number, string>>();

  by({ txid: id, vout }: OutPoint): string | undefined {
    return this.#byTx.get(id)?.get(vout);
  }

  set({ txid: id, vout }: OutPoint, user: string): void {
    const users = this.#byTx.get(id);
    if (users) users.set(vout, user);
    else this.#byTx.set(id, new Map([[vout, user]]));
  }

  delete({ txid: id, vout }: OutPoint): void {
    const users = this.#byTx.get(id);
    users?.delete(vout);
    if (users?.size === 0) this.#byTx.delete(id);
  }
}

const isOutPoint = (a: OutPoint, b: OutPoint): boolean => a.txid === b.txid && a.vout === b.vout;

/** A signature and the key, or a signature: whatever is beside it makes another id, and as many as one likes. */
function isBare({ witness, scriptSig }: TxInput, publicKey: Uint8Array): boolean {
  const pushes = witness.length > 0 ? witness : (pushesOf(scriptSig) ?? []);
  const [, key] = pushes;
  if (witness.length > 0 && scriptSig.length > 0) return false;
  return pushes.length === 1 || (pushes.length === 2 && key !== undefined && equalBytes(key, publicKey));
}

/** A signature and nothing else. */
const isBareSignature = ({ witness, scriptSig }: TxInput): boolean => witness.length === 0 && pushesOf(scriptSig)?.length === 1;

function isSignedBy(input: TxInput, publicKey: Uint8Array): boolean {
  const last = input.witness.length > 0 ? input.witness.at(-1) : pushesOf(input.scriptSig)?.at(-1);
  return last !== undefined && equalBytes(last, publicKey);
}

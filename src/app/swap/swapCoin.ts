import type { RelayPolicy } from "../../core/coin/relayPolicy.ts";
import type { OwnContracts } from "../../core/swap/events.ts";
import type { Result } from "../../core/util/result.ts";
import type { FeeRate } from "../../core/utxo/feeRate.ts";
import type { OutPoint } from "../../core/utxo/tx.ts";
import type { UtxoChain } from "../../ports/chain.ts";
import type { FundsError, Reservation, TradingCoin } from "../tradingCoin.ts";

/**
 * The HTLC of one payment (reference swap-protocol.md 4.1; on account chains 5.1). Keys 33 bytes, `secretHash` 20 or 32 bytes as
 * negotiated.
 */
export type Contract = {
  /** unix seconds */
  readonly lock: number;
  readonly secretHash: Uint8Array;
  readonly refundKey: Uint8Array;
  readonly claimKey: Uint8Array;
  /** What is locked, base units. A script does not commit to it, a swap contract does. */
  readonly units: bigint;
  /** Address of the swap contract, 40 hex; null: the money is locked in a script. */
  readonly swapContract: string | null;
};

/**
 * A chain as swaps look at it. On account chains a "script" is what `contractScript` made of a contract, and its output the
 * payment the swap contract holds for it.
 */
export type SwapChain = Pick<
  UtxoChain,
  | "ticker"
  | "status"
  | "onChange"
  | "watchScript"
  | "watchTx"
  | "unwatch"
  | "guard"
  | "calm"
  | "doubt"
  | "mayBeDenied"
  | "crowded"
  | "isWaiting"
  | "outputs"
  | "tx"
  | "confirmations"
  | "isNotarized"
  | "broadcast"
  | "refresh"
> & {
  /**
   * What the chain says of a watched script that no node can show, or why what is there does not count, one sentence with what to do; null:
   * it shows everything.
   */
  unseen?(script: Uint8Array): string | null;
  /** Whether nothing on it is ever notarized: who waits for that waits for ever. Absent: not known. */
  hasNoFinality?(): boolean;
  /**
   * What became of a payment that the chain has exactly as a watched script says, and of which no node has shown the transaction: not yet,
   * or not any more. Null: there is none, or it is shown. Chains of scripts show what they have.
   */
  unfound?(script: Uint8Array): "unspent" | "claimed" | "refunded" | null;
  /** Why no step that cannot be taken back rests on what the chain shows now, one sentence; null: nothing is against it. Chains of scripts have `doubt`. */
  hasty?(): string | null;
  /**
   * The secret of a watched script's payment, where anybody showed it while nobody could say what the chain has; null: nobody did. It was
   * compared with the hash. Chains of scripts have `guard`.
   */
  shownSecret?(script: Uint8Array): Uint8Array | null;
  /**
   * Bytes a log has of the other side's payment: they name it where the chain holds it and nobody shows it any more. Kept until its script
   * is watched no more. Chains of scripts show what they have.
   * @param isWhole it was seen on the chain with all its value
   */
  remember?(raw: Uint8Array, isWhole: boolean): void;
};

/**
 * What may be done for an own transaction that no block takes: the policies of scripts' chains, and `nonce`: whatever has the same
 * nonce and pays an eighth more replaces it; nobody pays for another.
 */
export type BumpPolicy = RelayPolicy | "nonce";

export type SignedTx = { readonly txid: string; readonly raw: Uint8Array };
/** `fee`: base units it pays for itself. */
export type OwnSignedTx = SignedTx & { readonly fee: bigint };
/** What ends a payment. */
export type SpendUse = "claim" | "refund" | "cancel";

/**
 * What a cancellation has to beat, base units. `paid`: by the payment, as it was stored; counts where an input of it is not known any more.
 * `childFees`: by children of it. `least`: the cancellation pays no less. Where transactions
 * have nonces nothing of it counts: the bids with the payment's nonce are to be beaten.
 */
export type CancelFees = { readonly paid?: bigint; readonly childFees?: bigint; readonly least?: bigint };

/** What the fees of claims, refunds and children are reckoned with. */
export type SpendRates = {
  readonly rate: FeeRate;
  /** Least that is relayed or mined now, base units per 1000 bytes; null when nobody says. */
  readonly floorPerKb: bigint | null;
  /** What the backend itself relays, per 1000 bytes; null when it does not say. */
  readonly relayPerKb: bigint | null;
  /** Most a node takes for one transaction; null: see `absurdFee`. */
  readonly mostPerTx: bigint | null;
  /** The coins file names the rate: there is no market to follow. */
  readonly isFixed: boolean;
  /** Virtual bytes of a child. */
  readonly childSize: number;
};

/**
 * Why received transaction bytes are not the payment or fee that was agreed. One sentence, with the numbers. `OtherValue`: they
 * pay to the script of this very contract, but not what was agreed, so they cannot have been meant for another swap. `ValuesNeeded`: nothing in them
 * speaks against a fee, and `SwapCoin.spentValues` has to tell the rest. `BadSignature`: nothing does but that signatures of a fee were verified in vain.
 */
export type TxRefusal = { readonly kind: "Refused" | "OtherValue" | "ValuesNeeded" | "BadSignature"; readonly reason: string };

/** Base units of an output; null: not known. */
export type SpentValue = (output: OutPoint) => bigint | null;

/** Transactions of a token's swap still to come. `payments`: the dex fee among them. */
export type TokenSteps = { readonly payments: number; readonly refund: boolean; readonly claim: boolean };

/**
 * Why a claim or refund may not be paid. `isRefused`: so the nodes agree; false: they leave it open, which whoever withholds an answer brings about.
 */
export type SpendObstacle = { readonly isRefused: boolean; readonly reason: string };

export type SpendArgs = {
  readonly contract: Contract;
  readonly payment: Uint8Array;
  readonly fee?: bigint;
  readonly replaces?: Uint8Array;
};

/**
 * The dex fee a swap is owed. Keys 33 bytes, amounts in base units. `spentValue`: of an output that it spends, where that is known: see
 * `SwapCoin.spentValues`.
 */
export type ExpectedDexFee = {
  /** Null: who signed it is not asked. */
  readonly takerKey: Uint8Array | null;
  readonly feeKey: Uint8Array;
  readonly feeUnits: bigint;
  readonly burnUnits: bigint;
  readonly spentValue?: SpentValue;
};

/** What a swap needs from an activated coin beyond what orders need. Builders lock the outputs they use at once. */
export interface SwapCoin extends TradingCoin {
  readonly chain: SwapChain;
  /** The own swap contracts; null: money is locked in scripts. */
  readonly swapContracts: OwnContracts | null;
  /** Keeps a reservation until `release`, however long the swap takes. */
  adopt(reservation: Reservation): void;
  /**
   * Same as `reserve`, for swaps taken up after a restart whose outputs were never signed for: one answer for each, in order. What fees
   * cost now may be more than there is: then all there is is held.
   */
  reserveAgain(
    asked: readonly { readonly amounts: readonly bigint[]; readonly ttlMs: number }[],
  ): readonly Result<Reservation, FundsError>[];
  /** The same for `reserveClaim`. */
  reserveClaimAgain(ttlMs: number): Result<Reservation | null, FundsError>;
  /**
   * A version of a claim was signed: what it may cost is taken of what is held for it, and the rest stays for dearer ones. Only coins that hold
   * something for claims have it.
   */
  useClaimGas?(reservation: Reservation, claim: Uint8Array): void;
  /**
   * Holds gas, as much as there is, for steps of a token that this coin pays for and that is not enabled yet. Null: `ticker` is none. Only platform coins have
   * it.
   */
  reserveTokenGas?(ticker: string, steps: TokenSteps, ttlMs: number): Result<Reservation, FundsError> | null;
  contractScript(contract: Contract): Uint8Array;
  /**
   * Looks whether a dex fee would arrive now, and what it needs; nothing is sent. Only coins whose transfers may be refused have it.
   * @returns why it would not, or is not known to, one sentence; null: it would
   */
  prepareToPayFee?(feeKey: Uint8Array, feeUnits: bigint, signal: AbortSignal): Promise<string | null>;
  /** Pays `feeUnits` to the hash of `feeKey` (and burns `burnUnits`) from inputs of the HTLC key. */
  buildDexFee(args: Omit<ExpectedDexFee, "takerKey"> & { readonly reservation: Reservation | null }): Result<OwnSignedTx, FundsError>;
  /**
   * Own transactions the chain has, signed with the own key alone, that pay exactly this dex fee and are in no block up to
   * `sinceHeight`. None on account chains: they show no account's transactions.
   * @param isKnown which are none of these whatever they pay; the others are read and their signatures checked
   */
  ownDexFees(wanted: Omit<ExpectedDexFee, "takerKey">, sinceHeight: number, isKnown: (txid: string) => boolean): readonly OwnSignedTx[];
  /**
   * What must be on the chain before a payment into `contract` can be made (the allowance of a token) is brought about.
   * @returns why it is not yet, one sentence; null: it is, or the coin needs nothing of the kind
   */
  prepareToPay(contract: Contract, reservation: Reservation | null, signal: AbortSignal): Promise<string | null> | null;
  buildPayment(args: { readonly contract: Contract; readonly reservation: Reservation | null }): Result<OwnSignedTx, FundsError>;
  /** Why the present rate asks for more than was reserved for a payment or dex fee, with the numbers; null when it does not. */
  dearerThanReserved(reservation: Reservation): string | null;
  /**
   * Looks whether a claim or refund out of `contract` would be paid now, and what it needs; nothing is sent and no secret is shown. Before
   * the payment is there: whether the own account could be paid at all, as far as that can be asked, and whether nodes will say it of a claim.
   * @returns why it would not be, or is not known to; null: it would, or the coin's chain knows no such thing
   */
  prepareToSpend(contract: Contract, signal: AbortSignal): Promise<SpendObstacle | null> | null;
  /**
   * Why no money moves for, and no secret is shown by, a claim or refund that costs what `prepareToSpend` found last, one sentence; null:
   * it is no dearer than that. What shows nothing new is made all the same: it is all there is left to do.
   */
  spendTooDear(): string | null;
  /**
   * Why the claim that reveals the secret would not get into a block soon, one sentence; null: nothing is in its way.
   * @param claim its bytes, if it is signed already
   */
  claimObstacle(claim: Uint8Array | null): string | null;
  /** Whether the nonce of a transaction that never left was used by another one: it can only be signed anew. */
  lostNonce?(raw: Uint8Array): boolean;
  /** Whether a claim was signed with less gas than one needs now, and would fail. Only coins that count gas have it. */
  lacksGas?(claim: Uint8Array): boolean;
  /**
   * Asks whether one that `lacksGas` would fail, as many nodes as must agree saying so: what fewer say has a claim signed with more, and must not keep one
   * here for ever that may have left.
   */
  isSurelyShort?(claim: Uint8Array, signal: AbortSignal): Promise<boolean>;
  readonly relayPolicy: BumpPolicy;
  /**
   * What a claim or refund is reckoned as: virtual bytes, or gas; a cancellation only where it has a nonce.
   * @param former the version it replaces, which may have been signed with more gas than would be needed now
   */
  spendSize(what: SpendUse, former?: Uint8Array): number;
  /** Of that what is known to be needed (`FeeQuestion`). Absent: all of it. */
  sureSize?(what: SpendUse, former?: Uint8Array): number;
  /** What a version pays for so much of its size, at its price; absent where only a whole fee counts. */
  feeAt?(raw: Uint8Array, size: number): bigint;
  /**
   * What fees of claims and refunds of so many base units are measured by where the amount itself does not do: base units of the coin
   * that pays them. Null: the amount itself.
   */
  feeValue(units: bigint): bigint | null;
  spendRates(): SpendRates;
  /**
   * Spends output 0 of `payment` with the secret. Pays to the own address, less the fee (default: the quoted one).
   * `replaces`: the former version, whose nonce is used again where there are nonces.
   */
  buildClaim(args: SpendArgs & { readonly secret: Uint8Array }): Result<OwnSignedTx, FundsError>;
  /** Spends output 0 of `payment` back to the own address; valid once the median time past exceeds the lock. */
  buildRefund(args: SpendArgs): Result<OwnSignedTx, FundsError>;
  /** Spends the largest own output of an own transaction back to the own address, so that its fee counts for both. */
  buildChild(parent: Uint8Array, fee: bigint): Result<OwnSignedTx, FundsError>;
  /** Whether a contract of so many base units leaves more than dust once a claim or refund has paid its miner fee. */
  coversSpend(units: bigint): boolean;
  /**
   * A spend of the same inputs, or of those that are still known, back to the own address at a higher fee, so that `payment` can no longer
   * confirm. It beats the payment with what its children pay.
   */
  buildCancel(payment: Uint8Array, fees?: CancelFees): Result<OwnSignedTx, FundsError>;
  /** Whether no mempool takes an own transaction any more, for its lock time is too old. Absent where nothing ages. */
  hasAged?(raw: Uint8Array): boolean;
  /**
   * Whether an own transaction is built on another own one that no block takes any more (`isAged`): then neither is ever mined. Absent where
   * nothing ages.
   */
  restsOnAged?(raw: Uint8Array): boolean;
  /**
   * Whether not one output is there that an own transaction spends: it can neither be mined nor cancelled. Absent where transactions spend no outputs.
   */
  restsOnNothing?(raw: Uint8Array): boolean;
  /** Base units an own transaction pays; null when an input is not known any more. */
  feeOf(raw: Uint8Array): bigint | null;
  /** Sum of the outputs, base units. */
  outputValue(raw: Uint8Array): bigint;
  /** Whether a transaction the backend has is signed with the own key alone. */
  isOurs(txid: string): boolean;
  /**
   * Whether a transaction has the own signature in each of its inputs, over all of it: strangers who show a chain make up what only looks like
   * it. Absent where the sender is read from the signature.
   */
  isSigned?(raw: Uint8Array): boolean;
  /**
   * What of the own account waits for a block and nothing here knows of, one sentence: it may be a payment that a log lacks, and
   * shows only then. Null: nothing does, or payments show before they are in a block.
   */
  unexplained(): string | null;
  /**
   * What was sent from the own account and no pool has, one sentence: what waits behind it shows nowhere. Null: there is nothing of the kind.
   * Only coins whose `relayPolicy` is `nonce` have it.
   */
  behindMissing?(wasSent: (txid: string) => boolean): string | null;
  /** The ids of own transactions that spend an output of this one. */
  builtOn(raw: Uint8Array): ReadonlySet<string>;
  /** The id of another transaction, in a block, that spends an input of this own one: it can never confirm. Null: none. */
  conflictOf(raw: Uint8Array): string | null;
  /** Takes the inputs of a stored own transaction out of circulation after a restart. */
  lockInputs(raw: Uint8Array): void;
  /**
   * Takes the nonce of a stored transaction of another coin's swap, if the same account signed it: a token may be enabled later than
   * what pays for it. Only coins whose `spendsFrom` is `account` have it.
   */
  lockNonce?(raw: Uint8Array): void;
  /**
   * The swap of a stored transaction waits for its other coin: until `handBack` the account sends it itself, and gives it up when its time
   * is over, because everything later of the account waits for it. Only of transactions the same account signed.
   * @param until unix seconds; null: it is wanted for ever; 0: nobody wants it
   * @param renew called at each block, with a coin of the account: has a dearer version stored, and entrusted in its place, where one is due, or one with
   * another nonce where it has missed its own; the id of the one that may be sent at this block, or null; rejects never. Null: it is not replaced, and sent as it is
   */
  entrust?(raw: Uint8Array, until: number | null, renew: ((coin: SwapCoin) => Promise<string | null>) | null): void;
  /**
   * Whether the contract holds what a claim asks for, as a majority of its nodes says, who do not get to see the secret for that; null where nobody says.
   * Only coins that have `entrust` have it.
   */
  isClaimable?(claim: Uint8Array, signal: AbortSignal): Promise<boolean | null>;
  /**
   * Whether the chain would refuse a claim or refund, as a majority of its nodes says; null where nobody says. Only coins that have `entrust` have it.
   * @param showsSecret nobody was seen to have it: the nodes do not get to see its secret for that
   */
  isHopeless?(spend: Uint8Array, showsSecret: boolean, signal: AbortSignal): Promise<boolean | null>;
  /** Whether nodes have what was to be sent: a pool or a block shows it, or they took it since the last block. Only coins that have `entrust` have it. */
  isOut?(raw: Uint8Array): boolean;
  /** Whether nodes have what was to be sent, or took it once, in any version. Only coins that have `entrust` have it. */
  hasLeft?(raw: Uint8Array): boolean;
  /**
   * Whether a block has used the nonce of what was sent, and none is known to have carried it out: it failed there, or another transaction has the
   * nonce. Only coins that have `entrust` have it.
   */
  hasMissed?(sent: Uint8Array): boolean;
  /**
   * A claim, refund or cancellation of the same account again, at a higher fee and with its nonce: for a swap that waits, of any coin of the account. Only
   * coins that have `entrust` have it.
   * @param isAnew with a nonce of its own: no block takes the former one any more
   */
  buildDearer?(former: Uint8Array, fee: bigint, isAnew?: boolean): Result<OwnSignedTx, FundsError>;
  handBack?(raw: Uint8Array): void;
  /**
   * Whether what is later of the account waits for its nonce: no block and no pool has it used. Only coins that have `entrust` have it.
   */
  holdsUp?(raw: Uint8Array): boolean;
  /** One that never left, and never will, gives its nonce back. */
  freeNonce?(raw: Uint8Array): void;
  /** A stored own transaction that may never confirm: nothing is built on its change any more. Its inputs stay taken. */
  dropChange(raw: Uint8Array): void;
  /**
   * The swap of an own transaction goes on, or is over, without it: where it is refused, or holds up others for long, its nonce is used for
   * nothing, so that nothing of value shares it with bytes that others may bring back. Only coins whose `relayPolicy` is `nonce` have it.
   */
  giveUp?(raw: Uint8Array, isRefused: boolean): void;
  /** Whether a transaction that a pool has keeps the account's claims or refunds waiting, for it pays less than a block asks. */
  isStuck?(raw: Uint8Array): boolean;
  /** One that was given up is sent again after all: a reorganisation undid what stood against it. */
  takeBack?(raw: Uint8Array): void;
  /** The transaction was never sent and never will be: its inputs are free again. */
  releaseInputs(raw: Uint8Array): void;
  /** Exact value at output 0 to the contract's script, well-formed bytes. */
  checkPayment(raw: Uint8Array, contract: Contract): Result<SignedTx, TxRefusal>;
  /**
   * Asks the backend for the values of those outputs a dex fee spends that its check needs (`ValuesNeeded`: they are few): a signature for an output of a bare key names no
   * key, and may cover the value. Null: it does not have all of them, and the fee cannot count now. Absent: nothing of the kind is needed.
   */
  spentValues?(raw: Uint8Array, signal: AbortSignal): Promise<SpentValue | null>;
  /** The script whose outputs a dex fee spends, as far as it is one of `takerKey`; null: of no such one. Absent: the chain knows no scripts. */
  feePayer?(raw: Uint8Array, takerKey: Uint8Array): Uint8Array | null;
  /** Every input signed by `takerKey`, output 0 pays at least the fee to the fee key, burn output if due. */
  checkDexFee(raw: Uint8Array, expected: ExpectedDexFee): Result<SignedTx, TxRefusal>;
  /** Which branch of the contract a transaction takes when it spends output 0 of `paymentTxid`. Bytes that cannot be had are empty. */
  classifySpend(spend: SignedTx, paymentTxid: string): "claim" | "refund" | "other";
  /** Whether what spends a payment through its contract's refund branch has the signature of who may. */
  isSignedRefund(spend: SignedTx, paymentTxid: string, contract: Contract): boolean;
  /** The 32-byte preimage of the contract's hash, if the transaction carries it. */
  findSecret(spend: SignedTx, secretHash: Uint8Array): Uint8Array | null;
  /** Same transaction, whatever the witness form of its bytes. */
  sameTx(a: Uint8Array, b: Uint8Array): boolean;
  /** Both spend exactly the same outputs, in the same order; on account chains: at most one of them can pay. */
  sameInputs(a: Uint8Array, b: Uint8Array): boolean;
  /** The ids of the transactions whose outputs this one spends, each once. */
  parentsOf(raw: Uint8Array): readonly string[];
  /** Whether a transaction spends an output of `txid`. */
  spends(raw: Uint8Array, txid: string): boolean;
}

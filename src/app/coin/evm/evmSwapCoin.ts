import { addressOfPubkey, type EvmAddress, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { transferCall } from "../../../core/evm/erc20.ts";
import { evmTxid } from "../../../core/evm/parseTx.ts";
import { parseSwapCall, type SwapCall } from "../../../core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import type { OwnContracts } from "../../../core/swap/events.ts";
import { equalBytes, toHex } from "../../../core/util/bytes.ts";
import type { Result } from "../../../core/util/result.ts";
import { hash160 } from "../../../core/utxo/hash.ts";
import type {
  Contract,
  OwnSignedTx,
  SignedTx,
  SpendArgs,
  SpendObstacle,
  SpendRates,
  SpendUse,
  SwapCoin,
  TxRefusal,
} from "../../swap/swapCoin.ts";
import type { FundsError, Reservation } from "../../tradingCoin.ts";
import { isAboveBlock } from "./blockGas.ts";
import { claimObstacle, hasLostNonce, unexplainedNonce } from "./claimObstacle.ts";
import { dataBound, dataGasNow, dataObstacle } from "./dataCost.ts";
import type { EvmCoin } from "./evmCoin.ts";
import { EvmSwapBuilder } from "./evmSwapBuilder.ts";
import { EvmSwapChain } from "./evmSwapChain.ts";
import { checkEvmDexFee, checkEvmPayment } from "./evmSwapReader.ts";
import { EvmTradeFunds } from "./evmTradeFunds.ts";
import { MOST_PER_TX, priceOf } from "./gasBid.ts";
import {
  asCall,
  type CallGas,
  CONTRACT_GAS,
  callRoom,
  lacks,
  MOST_DATA_GAS,
  MOST_NEEDED,
  MOST_TRANSFER,
  NO_DATA,
  txGas,
} from "./gasFigures.ts";
import { isClaimable } from "./isClaimable.ts";
import { bidOf, greatestCost, outgoingOf } from "./outgoing.ts";
import { paymentScript, paymentTerms } from "./paymentScript.ts";
import { payoutObstacle } from "./payoutObstacle.ts";
import { ReadTxs } from "./readTxs.ts";
import { samePayment } from "./replacement.ts";
import { failsWith, type Payout, tryClaim, tryPayout, trySpend } from "./triedSpend.ts";

/** A fee is raised to half of what it is measured by at most (`feeCap`), and the promise's worst spike is 50 times the usual price. */
const SPIKE_ROOM = 2n * 50n;
/** However little a swap is worth, its claim may cost ten times the usual price, and its refund, which a tenth is paid for, twice. */
const LEAST_ROOM = 2n * 10n;

const NONE: ReadonlySet<string> = new Set();

const refused = (reason: string): SpendObstacle => ({ isRefused: true, reason });
const unknown = (reason: string | null): SpendObstacle | null => (reason === null ? null : { isRefused: false, reason });

const tooHungry = (ticker: string, gas: bigint): string => `a transfer of ${ticker} needs ${gas} gas, far more than any swap reckons with`;

/** An ETH-like coin or a token, as orders and swaps use it (swap-protocol.md 5). */
export class EvmSwapCoin extends EvmTradeFunds implements SwapCoin {
  readonly chain: EvmSwapChain;
  readonly relayPolicy = "nonce";
  readonly swapContracts: OwnContracts | null;
  readonly #builder: EvmSwapBuilder;
  /** Asked for at every look at the chain. */
  readonly #scripts = new WeakMap<Contract, Uint8Array>();
  readonly #txs = new ReadTxs();

  /** @param ceilingFactor how far the gas price may rise between a match and its transactions; so much is held */
  constructor(coin: EvmCoin, ceilingFactor: number, isOwnToken: (ticker: string) => boolean) {
    super(coin, ceilingFactor, isOwnToken);
    const { swapContract, fallbackSwapContract } = coin.spec;
    this.swapContracts = swapContract === null ? null : { own: swapContract, fallback: fallbackSwapContract };
    this.chain = new EvmSwapChain(coin.account);
    this.#builder = new EvmSwapBuilder({
      coin,
      chain: this.chain,
      gasOf: (use) => this.gas.gasOf(use),
      spendGas: (use, former) => this.#gasToSign(use, former),
      ceilingOf: (reservation) => this.ceilingOf(reservation),
      dearerThanReserved: (reservation) => this.dearerThanReserved(reservation),
      stepsAfter: (use) => this.stepsAfter(use),
    });
  }

  contractScript(contract: Contract): Uint8Array {
    let script = this.#scripts.get(contract);
    if (!script) {
      script = paymentScript(paymentTerms(contract, this.coin.contract));
      this.#scripts.set(contract, script);
    }
    return script;
  }

  prepareToPay(contract: Contract, reservation: Reservation | null, signal: AbortSignal): Promise<string | null> {
    return this.#builder.prepare(paymentTerms(contract, this.coin.contract), reservation, signal);
  }

  /** A token may need more gas than the usual limit, or refuse. */
  async prepareToPayFee(feeKey: Uint8Array, feeUnits: bigint, signal: AbortSignal): Promise<string | null> {
    const { account, contract: token, ticker } = this.coin;
    if (token === null) return null;
    const data = transferCall(addressOfPubkey(feeKey), feeUnits);
    const tried = await account.chain.estimateGas({ from: account.address, to: token, value: 0n, data }, signal, MOST_TRANSFER);
    if (!tried.ok) {
      const { kind, message } = tried.error;
      const what = kind === "Unreachable" ? `whether a dex fee of ${ticker} arrives is not known` : `a dex fee of ${ticker} would fail`;
      return `${what}: ${message.replace(/\.$/, "")}`;
    }
    if (tried.value > MOST_TRANSFER) return tooHungry(ticker, tried.value);
    this.gas.needsFeeGas(asCall(txGas(tried.value)));
    return null;
  }

  async prepareToSpend(contract: Contract, signal: AbortSignal): Promise<SpendObstacle | null> {
    const untold = await this.#askForData(signal);
    return (await this.#whyNotPaid(contract, signal)) ?? unknown(untold);
  }
  /** @returns why what data needs now is not known, where it counts as gas: with what was known before a claim may lack it, and have shown its secret */
  async #askForData(signal: AbortSignal): Promise<string | null> {
    const { account } = this.coin;
    const beside = await dataGasNow(account, signal);
    if (beside === "untold") return `what the data of a transaction needs on ${account.platform} now is not known`;
    if (beside !== "none") this.gas.needsDataGas(beside);
    return null;
  }
  /** The contract pays with a transfer of its own, so that is what is tried: the whole claim would show the secret to the nodes. */
  async #whyNotPaid(contract: Contract, signal: AbortSignal): Promise<SpendObstacle | null> {
    const { account, contract: token, ticker } = this.coin;
    const { contract: from, id, units, receiver } = paymentTerms(contract, token);
    const isThere = this.chain.payment({ contract: from, id: toHex(id) })?.state === "sent";
    if (token === null) return payoutObstacle(account, from, isThere ? units : 0n, signal);
    // A refund shows nothing: it is made whatever the nodes can say.
    if (!isThere) return receiver === account.address ? unknown(await account.claims.check(from, signal)) : null;
    const tried = await tryPayout(account, from, token, units, MOST_NEEDED, this.gas.besideGas, signal);
    if (!tried.ok) {
      const why = tried.error.message.replace(/\.$/, "");
      return tried.error.kind === "Reverted"
        ? refused(`the swap contract could not pay ${ticker} to this account now: ${why}`)
        : unknown(`whether the swap contract would pay ${ticker} to this account is not known: ${why}`);
    }
    const isUsable = tried.value <= MOST_NEEDED;
    if (isUsable) await this.#foundToNeed(tried.value, from, { amount: units, token }, null, signal);
    return isUsable ? null : refused(tooHungry(ticker, tried.value - CONTRACT_GAS));
  }
  /** What is above the usual may be the word of one node of two. */
  async #foundToNeed(gas: CallGas, from: EvmAddress, payout: Payout, other: EvmAddress | null, signal: AbortSignal): Promise<void> {
    const usual = this.gas.usualClaimGas(other);
    const isSure = gas > usual && (await failsWith(this.coin.account, from, payout, usual, signal));
    this.gas.needsSpendGas(gas, isSure, other);
  }
  useClaimGas({ id }: Reservation, claim: Uint8Array): void {
    const { chain, funds, nonces } = this.coin.account;
    const { tx, txid } = this.#own(claim);
    const beside = dataBound(chain).wei;
    const others = nonces.othersAt(tx.nonce).filter((other) => other.txid !== txid);
    const counted = outgoingOf(
      others.map((other) => other.tx),
      beside,
    ).wei;
    const more = greatestCost(tx) + beside - counted;
    if (more > 0n) funds.use(id, 0n, more, txid);
  }
  spendTooDear(): string | null {
    const { account, ticker } = this.coin;
    const obstacle = dataObstacle(account);
    if (obstacle !== null) return obstacle;
    if (this.gas.besideGas > MOST_DATA_GAS)
      return `every transaction of ${ticker} needs ${this.gas.besideGas} gas more than any swap reckons with`;
    const least = this.gas.leastClaimGas();
    return isAboveBlock(account.chain, least) ? `a claim of ${ticker} needs ${least} gas, more than a block has` : null;
  }
  /** Its data may have become dearer since it was signed. */
  lacksGas(claim: Uint8Array): boolean {
    return lacks(txGas(this.#own(claim).tx.gasLimit), this.gas.leastClaimGas(this.#otherCoin(claim)));
  }
  async isSurelyShort(claim: Uint8Array, signal: AbortSignal): Promise<boolean> {
    const { account } = this.coin;
    const { tx } = this.#own(claim);
    const [call, usual, limit] = [this.#callOf(claim), this.gas.usualClaimGas(this.#otherCoin(claim)), txGas(tx.gasLimit)];
    const beside = await dataGasNow(account, signal, limit - usual);
    const room = callRoom(limit, typeof beside === "bigint" ? beside : NO_DATA);
    if (room < usual) return true;
    return tx.to !== null && call?.kind === "receiverSpend" && failsWith(account, tx.to, call, room, signal);
  }
  lostNonce(raw: Uint8Array): boolean {
    return hasLostNonce(this.coin.account, this.#own(raw));
  }
  claimObstacle(claim: Uint8Array | null): string | null {
    const { account, ticker } = this.coin;
    const own = claim && this.#own(claim);
    if (own && claim && this.lacksGas(claim))
      return `the claim of ${ticker} was signed with ${own.tx.gasLimit} gas, and would need ${this.gas.leastClaimGas(this.#otherCoin(claim))} now`;
    if (own && isAboveBlock(account.chain, own.tx.gasLimit))
      return `the claim of ${ticker} was signed with ${own.tx.gasLimit} gas, more than a block has`;
    const fee = this.gas.gasOf("claim") * priceOf(this.coin.market()) + dataBound(account.chain).wei;
    const obstacle = claimObstacle(account, own, fee);
    if (obstacle !== null) account.keeper.awaitLine();
    return obstacle;
  }

  buildDexFee(args: Parameters<SwapCoin["buildDexFee"]>[0]): Result<OwnSignedTx, FundsError> {
    return this.#builder.dexFee(args.feeKey, args.feeUnits, args.reservation);
  }
  buildPayment(args: Parameters<SwapCoin["buildPayment"]>[0]): Result<OwnSignedTx, FundsError> {
    const built = this.#builder.payment(paymentTerms(args.contract, this.coin.contract), args.reservation);
    // After a reorganisation nodes are asked for its receipt again, and may have it no more.
    if (built.ok) this.chain.addStored(this.#own(built.value.raw));
    return built;
  }
  buildClaim(args: Parameters<SwapCoin["buildClaim"]>[0]): Result<OwnSignedTx, FundsError> {
    return this.#builder.claim(args);
  }
  buildRefund(args: SpendArgs): Result<OwnSignedTx, FundsError> {
    return this.#builder.refund(args);
  }
  buildCancel(payment: Uint8Array): Result<OwnSignedTx, FundsError> {
    return this.#builder.cancel(payment);
  }
  async isHopeless(spend: Uint8Array, showsSecret: boolean, signal: AbortSignal): Promise<boolean | null> {
    const { to, data } = this.#own(spend).tx;
    const call = this.#callOf(spend);
    if (to === null || call === null) return null;
    const { account } = this.coin;
    const untold = showsSecret ? await this.#askForData(signal) : null;
    const tried =
      showsSecret && call.kind === "receiverSpend"
        ? await tryClaim(account, to, call, MOST_NEEDED, this.gas.besideGas, signal)
        : await trySpend(account, to, data, MOST_NEEDED, this.gas.besideGas, signal);
    if (!tried?.isRefused && tried?.gas != null && "token" in call)
      await this.#foundToNeed(tried.gas, to, call, this.#otherCoin(spend), signal);
    return untold !== null && tried?.isRefused !== true ? null : (tried?.isRefused ?? null);
  }
  isClaimable(claim: Uint8Array, signal: AbortSignal): Promise<boolean | null> {
    return isClaimable(this.coin.account, this.#own(claim), signal);
  }
  hasMissed(sent: Uint8Array): boolean {
    const { chain, address } = this.coin.account;
    const { tx, txid } = this.#own(sent);
    return tx.nonce < (chain.account(address)?.nonce ?? 0n) && chain.tx(txid)?.receipt?.succeeded !== true;
  }
  buildDearer(former: Uint8Array, fee: bigint, isAnew = false): Result<OwnSignedTx, FundsError> {
    return this.#builder.dearer(this.#own(former), fee, isAnew);
  }
  /** Nobody pays for another on an account chain. */
  buildChild(): Result<OwnSignedTx, FundsError> {
    throw new Error("account chains have no children");
  }

  spendRates(): SpendRates {
    const perKb = priceOf(this.coin.market()) * 1_000n;
    const rate = { perKb, wholeKb: false };
    return { rate, floorPerKb: null, relayPerKb: null, mostPerTx: MOST_PER_TX, isFixed: false, childSize: 0 };
  }
  spendSize(what: SpendUse, former?: Uint8Array): number {
    return Number(this.#gasToSign(what, former));
  }
  #gasToSign(use: SpendUse, former?: Uint8Array): bigint {
    if (former === undefined) return this.gas.spendGas(use, 0n);
    const { tx } = this.#own(former);
    if (use !== "cancel") return this.gas.spendGas(use, tx.gasLimit, this.#otherCoin(former), 0n, tx.nonce);
    // It must pay for outbidding all that have its nonce, the payment first, which has gas of its own.
    const bids = [tx, ...this.coin.account.nonces.othersAt(tx.nonce).map((other) => other.tx)].map((one) => priceOf(bidOf(one)));
    const known = this.#callOf(former) === null ? tx.gasLimit : 0n;
    return this.gas.spendGas(
      use,
      known,
      null,
      bids.reduce((most, bid) => (bid > most ? bid : most)),
      tx.nonce,
    );
  }
  sureSize(what: SpendUse, former?: Uint8Array): number {
    return Math.min(this.spendSize(what, former), Number(this.gas.sureGas(what, former && this.#otherCoin(former))));
  }
  feeAt(raw: Uint8Array, size: number): bigint {
    const { tx } = this.#own(raw);
    const gas = BigInt(size);
    return priceOf(bidOf(tx)) * (gas < tx.gasLimit ? gas : tx.gasLimit);
  }
  feeValue(units: bigint): bigint | null {
    const [claim, refund] = [this.gas.spendGas("claim", 0n), this.gas.spendGas("refund", 0n)];
    const going = (claim > refund ? claim : refund) * priceOf(this.coin.market());
    const spike = SPIKE_ROOM * going;
    if (this.coin.contract !== null) return spike;
    if (units >= spike) return null;
    // Half of it is paid at most, and of what is worth less than a spike costs, no more than all of it.
    const whole = 2n * units < spike ? 2n * units : spike;
    return whole > LEAST_ROOM * going ? whole : LEAST_ROOM * going;
  }
  coversSpend(): boolean {
    return true;
  }

  isOurs(txid: string): boolean {
    const raw = this.chain.tx(txid)?.raw;
    return raw !== undefined && this.#txs.parse(raw)?.from === this.coin.account.address;
  }
  /** What an account sent is in no list of the chain's: a nonce that is gone says nothing of what it paid. */
  ownDexFees(): readonly OwnSignedTx[] {
    return [];
  }
  unexplained(): string | null {
    return unexplainedNonce(this.coin.account);
  }
  behindMissing(wasSent: (txid: string) => boolean): string | null {
    const { nonces, chain, address, platform, keeper } = this.coin.account;
    const pending = chain.account(address)?.pendingNonce ?? 0n;
    const missing = nonces.waiting().find(({ signed, ofSwap }) => signed.tx.nonce >= pending && (!ofSwap || wasSent(signed.txid)));
    if (missing === undefined) return null;
    // Nobody else sends a withdrawal on that no swap waits behind yet.
    keeper.awaitLine();
    return `no ${platform} pool has ${missing.signed.txid}, which was sent, and what waits behind it does not show`;
  }
  builtOn(): ReadonlySet<string> {
    return NONE;
  }
  parentsOf(): readonly string[] {
    return [];
  }
  conflictOf(raw: Uint8Array): string | null {
    const { txid } = this.#own(raw);
    return this.chain.tx(txid)?.failed ? txid : null;
  }
  lockInputs(raw: Uint8Array): void {
    const signed = this.#own(raw);
    const { tx, txid } = signed;
    this.coin.account.nonces.adopt(raw);
    this.chain.addStored(signed);
    const call = parseSwapCall(tx.data);
    if (call.ok && (call.value.kind === "ethPayment" || call.value.kind === "erc20Payment"))
      this.chain.addSender(toHex(call.value.id), txid);
  }
  lockNonce(raw: Uint8Array): void {
    if (this.#ofAccount(raw)) this.coin.account.nonces.adopt(raw);
  }
  entrust(raw: Uint8Array, until: number | null, renew: ((coin: SwapCoin) => Promise<string | null>) | null): void {
    const signed = this.#ofAccount(raw);
    if (!signed) return;
    const { chain, nonces } = this.coin.account;
    nonces.adopt(raw);
    nonces.entrust(signed.txid, until === null ? null : until * 1_000, renew && (() => renew(this)));
    // Whether a pool has it, or an older version, decides what becomes of its nonce. They stay watched whatever comes of this look.
    for (const { txid } of nonces.othersAt(signed.tx.nonce)) chain.watchTx(txid, 0).catch(() => undefined);
  }
  handBack(raw: Uint8Array): void {
    const signed = this.#ofAccount(raw);
    if (signed) this.coin.account.nonces.handBack(signed.txid);
  }
  isOut(raw: Uint8Array): boolean {
    const signed = this.#ofAccount(raw);
    return signed !== null && this.coin.account.nonces.isOut(signed.txid);
  }
  hasLeft(raw: Uint8Array): boolean {
    const signed = this.#ofAccount(raw);
    return signed !== null && this.coin.account.nonces.hasLeft(signed);
  }
  holdsUp(raw: Uint8Array): boolean {
    const { chain, address } = this.coin.account;
    const [signed, state] = [this.#ofAccount(raw), chain.account(address)];
    return signed !== null && state !== undefined && signed.tx.nonce >= state.pendingNonce;
  }
  isStuck(raw: Uint8Array): boolean {
    return this.coin.account.keeper.isStuck(this.#own(raw));
  }
  freeNonce(raw: Uint8Array): void {
    this.coin.account.nonces.free(evmTxid(raw));
  }
  /** There is no change. */
  dropChange(): void {}
  giveUp(raw: Uint8Array, isRefused: boolean): void {
    this.coin.account.nonces.giveUp(this.#own(raw).txid, isRefused);
  }
  takeBack(raw: Uint8Array): void {
    this.coin.account.nonces.takeBack(this.#own(raw).txid);
  }
  releaseInputs(raw: Uint8Array): void {
    const { txid } = this.#own(raw);
    this.chain.dropStored(txid);
    this.coin.account.nonces.free(txid);
    this.coin.account.funds.giveBack(txid);
  }
  feeOf(raw: Uint8Array): bigint | null {
    const { tx } = this.#own(raw);
    return greatestCost(tx) - tx.value;
  }
  outputValue(raw: Uint8Array): bigint {
    return this.#own(raw).tx.value;
  }

  checkPayment(raw: Uint8Array, contract: Contract): Result<SignedTx, TxRefusal> {
    return checkEvmPayment(raw, paymentTerms(contract, this.coin.contract), this.coin.account.chain.chainId);
  }
  checkDexFee(raw: Uint8Array, expected: Parameters<SwapCoin["checkDexFee"]>[1]): Result<SignedTx, TxRefusal> {
    const { takerKey, feeKey, feeUnits } = expected;
    return checkEvmDexFee(raw, this.coin.account.chain.chainId, this.coin.contract, { takerKey, feeKey, units: feeUnits });
  }
  classifySpend({ txid }: SignedTx, paymentTxid: string): "claim" | "refund" | "other" {
    return this.chain.endedBy(txid).find(({ payment }) => payment === paymentTxid)?.kind ?? "other";
  }
  /** The contract takes it from nobody else. */
  isSignedRefund(spend: SignedTx, paymentTxid: string): boolean {
    return this.classifySpend(spend, paymentTxid) === "refund";
  }
  /** From the contract's event, whoever called it; before that is found, from the call itself. */
  findSecret({ txid, raw }: SignedTx, secretHash: Uint8Array): Uint8Array | null {
    const tx = this.#txs.parse(raw);
    const call = tx && parseSwapCall(tx.tx.data);
    const called = call?.ok && call.value.kind === "receiverSpend" ? call.value.secret : null;
    const shown = [...this.chain.endedBy(txid).map(({ secret }) => secret), called];
    return shown.find((secret): secret is Uint8Array => !!secret && equalBytes(hash160(secret), secretHash)) ?? null;
  }
  sameTx(a: Uint8Array, b: Uint8Array): boolean {
    return equalBytes(a, b);
  }
  /** They have the same nonce; or make the same payment, whose id the contract takes once: a log put back to before one may hold another. */
  sameInputs(a: Uint8Array, b: Uint8Array): boolean {
    const [one, other] = [this.#txs.parse(a), this.#txs.parse(b)];
    if (one === null || one.from !== other?.from) return false;
    return one.tx.nonce === other.tx.nonce || (this.#callOf(a) !== null && samePayment(one.tx, other.tx));
  }
  /** A claim or refund names the id of its payment, in whichever transaction that was made. */
  spends(raw: Uint8Array, payment: string): boolean {
    const paid = this.chain.tx(payment)?.raw;
    const [spend, made] = [this.#callOf(raw), paid ? this.#callOf(paid) : null];
    return spend !== null && (made === null || equalBytes(spend.id, made.id));
  }

  #callOf(raw: Uint8Array): SwapCall | null {
    const tx = this.#txs.parse(raw);
    const call = tx && parseSwapCall(tx.tx.data);
    return call?.ok ? call.value : null;
  }

  /** Of which other coin of the account it is, whose swaps wait for that; null: of this one. */
  #otherCoin(spend: Uint8Array): EvmAddress | null {
    const call = this.#callOf(spend);
    return call === null || !("token" in call) || call.token === (this.coin.contract ?? ZERO_ADDRESS) ? null : call.token;
  }

  #ofAccount(raw: Uint8Array): SignedEvmTx | null {
    const { chain, address } = this.coin.account;
    const signed = this.#txs.parse(raw);
    return signed?.from === address && signed.tx.chainId === chain.chainId ? signed : null;
  }

  /** Bytes this node signed. */
  #own(raw: Uint8Array): SignedEvmTx {
    const tx = this.#txs.parse(raw);
    if (!tx) throw new Error("own bytes cannot be read");
    return tx;
  }
}

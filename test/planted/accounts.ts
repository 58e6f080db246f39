import { bug, type PlantedBug } from "./plantedBug.ts";

const FUNDS = "src/app/fees/tradeFunds.ts";
const FUNDS_TEST = "src/app/fees/tradeFunds.test.ts";
const VOLUMES = "src/app/fees/tradeVolumes.ts";
const PREIMAGE = "src/app/fees/tradePreimage.ts";
const FEES_TEST = "src/app/fees/accountFees.test.ts";
const CHECKS = "src/app/orders/fundsChecks.ts";
const HOLDS = "src/app/orders/fundsHolds.ts";
const UPKEEP = "src/app/orders/orderUpkeep.ts";
const SERVICE = "src/app/orders/ordersService.ts";
const ADDRESSES = "src/app/orderbook/makerAddresses.ts";
const ADDRESSES_TEST = "src/app/orderbook/makerAddresses.test.ts";
const ORDERS_TEST = "src/app/orders/accountOrders.test.ts";
const PAYOUT = "src/app/coin/evm/payoutObstacle.ts";
const PAYOUT_TEST = "test/evm/payout.test.ts";
const ATTACKS_TEST = "test/sim/accountAttacks.test.ts";

/** Orders and fees of coins whose fees the account, or another coin, pays. */
export const ACCOUNTS: readonly PlantedBug[] = [
  bug(
    "two fees of one coin are not added up",
    FUNDS,
    "{ required: add(required, amount), funds }",
    "{ required: amount, funds }",
    FUNDS_TEST,
    FEES_TEST,
  ),
  bug(
    "an own account with code is taken for one without",
    PAYOUT,
    "if (!code.value) return null;",
    "return null;",
    PAYOUT_TEST,
    ATTACKS_TEST,
  ),
  bug(
    "code that needs more gas than it is left is taken to be paid",
    PAYOUT,
    "tried.ok && tried.value <= PLAIN_GAS + STIPEND_GAS",
    "tried.ok",
    PAYOUT_TEST,
  ),
  bug(
    "a dex fee is paid by who cannot be paid",
    "src/app/swap/duties/fee.ts",
    " ??\n    (await whyNotPaidOut(task, signal));",
    ";",
    ATTACKS_TEST,
  ),
  bug(
    "money is locked by who cannot be paid",
    "src/app/swap/duties/payment.ts",
    " ?? (await whyNotPaidOut(task, signal));",
    ";",
    ATTACKS_TEST,
  ),
  bug(
    "the platform coin is traded by an account that refuses it",
    "src/app/coin/evm/evmTradeFunds.ts",
    "payouts.obstacle : null",
    "null : null",
    ATTACKS_TEST,
  ),
  bug(
    "the gas of a token's swap is free until the token is enabled",
    "src/app/swap/storedFunds.ts",
    "    this.#takeForTokens(coin);\n",
    "",
    ATTACKS_TEST,
  ),
  bug(
    "the gas of a token's swap is held twice once the token is enabled",
    "src/app/swap/storedFunds.ts",
    "    for (const uuid of this.#needs.keys()) this.#standIns.release(uuid, coin.ticker);\n",
    "",
    ATTACKS_TEST,
  ),
  bug(
    "a token's payment is believed without the token",
    "src/app/coin/evm/evmSwapChain.ts",
    " && this.#shortfall(watched, payment) === null",
    "",
    ATTACKS_TEST,
  ),
  bug(
    "tokens that came to another contract count for this one",
    "src/adapters/evmRpc/followedTxs.ts",
    "tx.arrivals.filter((a) => a.contract === contract)",
    "tx.arrivals.slice()",
    "test/evm/hostileNodes.test.ts",
  ),
  bug(
    "tiny requests of strangers hold all the gas",
    "src/core/peers/strangersShare.ts",
    "SHARE_DIVISOR * (held + units) <= balance",
    "held >= 0n",
    "src/app/peers/freshKeys.test.ts",
  ),
  bug(
    "the gas of swaps whose takers have not paid is forgotten",
    "src/app/orders/fundsHolds.ts",
    "if (hold.fees.length > 0) this.#handed.set(takerUuid, hold);\n",
    "",
    "src/app/peers/freshKeys.test.ts",
  ),
  bug(
    "what pools are said to have is believed for ever",
    "src/app/coin/evm/nonceKeeper.ts",
    "if (hidden && this.#hidden && this.#isOver(this.#hidden, HIDDEN, account)) {",
    "if (hidden && hidden.to < 0n) {",
    "src/app/coin/evm/nonceKeeper.test.ts",
  ),
  bug("a fee is signed behind a nonce that nobody knows", "src/app/swap/duties/fee.ts", "    coin.unexplained() ??\n", "", ATTACKS_TEST),
  bug(
    "a node's silence lets another name nonces alone",
    "src/adapters/evmRpc/chainLook.ts",
    "watched.filter((address) => !isOpen(address))",
    "watched.filter((address) => (told.get(address)?.length ?? 0) > 0)",
    "test/evm/hostileNodes.test.ts",
  ),
  bug(
    "any number of unknown transactions is believed",
    "src/app/coin/evm/nonceLedger.ts",
    "this.unknown().length <= MOST_UNKNOWN",
    "this.unknown().length <= 1_000",
    "src/app/coin/evm/swapNonces.test.ts",
  ),
  bug(
    "a receipt that cannot be read keeps the look from the rest",
    "src/adapters/evmRpc/followedTxs.ts",
    "  if (together.ok) return ok({ found: together.value, unread: new Map() });",
    "  if (!together.ok) return together;\n  if (together.ok) return ok({ found: together.value, unread: new Map() });",
    "test/evm/hostileNodes.test.ts",
  ),
  bug(
    "a transaction whose receipt cannot be read is taken for lost",
    "src/app/coin/evm/evmSwapChain.ts",
    "    if (this.#chain.isUnread(txid)) return seen;\n",
    "",
    "src/app/coin/evm/evmSwapChain.test.ts",
  ),
  bug(
    "a status names a token's claim fee in the token",
    "src/core/swap/swapStatus.ts",
    "isClaim ? (claim?.coin ?? otherTicker)",
    "isClaim ? otherTicker",
    ATTACKS_TEST,
  ),
  bug("the fee of a claim is not counted", FUNDS, "  if (other) count(other, claimFee(other));\n", "", FUNDS_TEST, FEES_TEST),
  bug("a token's fees are looked for in the token", FUNDS, "needs.set(payer.feeTicker, {", "needs.set(payer.ticker, {", FUNDS_TEST),
  bug(
    "the want of a platform coin is told as the coin's own",
    FUNDS,
    'isOwn ? "NotSufficientBalance" : "NotSufficientBaseCoinBalance"',
    '"NotSufficientBalance"',
    FUNDS_TEST,
  ),
  bug("the platform coin of the given token is taken for the received coin", FUNDS, " && ticker !== coin.feeTicker", "", FUNDS_TEST),
  bug("the other coin's claim takes nothing from a maximum", FUNDS, "add(refund, claimFee(other)) : refund", "refund : refund", FEES_TEST),
  bug("a maximum leaves nothing for a refund", FUNDS, "coin.feeTicker === coin.ticker ? coin.refundFee(stage) : ZERO", "ZERO", FEES_TEST),
  bug(
    "a taker need not be able to pay a refund",
    CHECKS,
    "[dexFeeFee.value, paymentFee.value, coin.refundFee(STAGE)]",
    "[dexFeeFee.value, paymentFee.value]",
    FUNDS_TEST,
  ),
  bug(
    "a maker need not be able to pay a refund",
    CHECKS,
    "given: volume, fees: add(fee.value, coin.refundFee(STAGE))",
    "given: volume, fees: fee.value",
    FUNDS_TEST,
  ),
  bug(
    "a token's greatest maker order is placed without its fees",
    CHECKS,
    "  return paid.ok ? ok(volume) : paid;",
    "  return ok(volume);",
    ORDERS_TEST,
  ),
  bug("max keeps nothing for the claim", CHECKS, "min(sub(most.value.volume, beside), ", "min(most.value.volume, ", ORDERS_TEST),
  bug("an order asks for fees that its own coin pays", CHECKS, "missing?.coin === coin.ticker ? null : missing", "missing", FUNDS_TEST),
  bug("the own hold stays when the claim's is refused", HOLDS, "      coin.release(own.value);\n", "", ORDERS_TEST),
  bug("the claim's hold stays when the handshake ends", HOLDS, "    hold.claim?.coin.release(hold.claim.reservation);\n", "", ORDERS_TEST),
  bug("the swap is not handed the claim's hold", HOLDS, "hold.claim?.reservation ?? null", "null", ORDERS_TEST),
  bug(
    "the order goes before its fees may come back from a handshake",
    HOLDS,
    "      if (payers.includes(ticker)) return true;\n",
    "",
    ORDERS_TEST,
  ),
  bug(
    "an order whose fees cannot be paid stays offered",
    UPKEEP,
    "if (left && this.#lacksFees(left)) this.#takeBack(left);",
    "",
    ORDERS_TEST,
  ),
  bug(
    "an order that was taken back is announced at once, when others do not listen",
    UPKEEP,
    "if (this.#keptBack(order) || this.#isTakenBack(order)) continue;",
    "if (this.#keptBack(order)) continue;",
    ORDERS_TEST,
  ),
  bug(
    "an order is not cut to what the claim leaves",
    UPKEEP,
    "shrinkToFunds(order, sub(funds, claim))",
    "shrinkToFunds(order, funds)",
    ORDERS_TEST,
  ),
  bug(
    "what is received is not looked at again though its account pays",
    SERVICE,
    'deps.coin(rel)?.spendsFrom === "account" ? [base, rel] : [base];',
    "[base];",
    ORDERS_TEST,
  ),
  bug(
    "a preimage takes the claim out of the volume whoever pays",
    PREIMAGE,
    'paidFromTradingVol: coin.spendsFrom === "contract"',
    "paidFromTradingVol: true",
    FEES_TEST,
  ),
  bug(
    "a token's own fee is told in the token",
    PREIMAGE,
    "const sendFee = { coin: mine.feeTicker,",
    "const sendFee = { coin: mine.ticker,",
    FEES_TEST,
  ),
  bug(
    "a token can be given whoever pays its fees",
    VOLUMES,
    "  if (missingFunds({ coin, given: ZERO, fees, other })) return ok(ZERO);\n",
    "",
    FEES_TEST,
  ),
  bug(
    "the book shows addresses of account chains without their checksum",
    ADDRESSES,
    "evm.checksumAddress(evm.addressOfPubkey(key))",
    "`0x${evm.addressOfPubkey(key)}`",
    ADDRESSES_TEST,
  ),
  bug("a made-up key of a relay's answer ends the request for the book", ADDRESSES, "isValidPubkey(key) ? ", "true ? ", ADDRESSES_TEST),
  bug(
    "the document's QRC-20 gas is KDF's",
    "src/core/coin/qrc20.ts",
    "spec: rational(3n *",
    "spec: rational(4n *",
    "test/rpc/section11.test.ts",
  ),
  bug(
    "a QRC-20 token's gas is left out",
    "src/rpc/methods/getTradeFee.ts",
    "payer ? add(",
    "payer === null ? add(",
    "test/rpc/section11.test.ts",
  ),
  bug(
    "a greatest volume leaves today's fees, and no order of it can be placed",
    FUNDS,
    'coin.spendsFrom === "account" ? "order" : stage',
    "stage",
    FEES_TEST,
  ),
];

import { bug, type PlantedBug } from "./plantedBug.ts";

const OBSERVE = "src/app/swap/duties/observe.ts";
const FUNDS = "src/app/swap/storedFunds.ts";
const FORGET = "src/app/swap/forgetSwap.ts";
const TAKE_UP = "src/app/swap/takeUpPayment.ts";
const AWAIT = "src/app/swap/duties/awaitFunds.ts";
const VERSIONS = "src/app/swap/duties/feeVersions.ts";
const COIN = "src/app/coin/evm/evmSwapCoin.ts";
const CHAIN = "src/app/coin/evm/evmSwapChain.ts";
const BUILDER = "src/app/coin/evm/evmSwapBuilder.ts";
const TRADE_FUNDS = "src/app/coin/evm/evmTradeFunds.ts";
const OBSTACLE = "src/app/coin/evm/claimObstacle.ts";
const BIDS = "src/app/coin/evm/swapBids.ts";
const READ = "src/app/coin/evm/readTxs.ts";
const KEEPER = "src/app/coin/evm/nonceKeeper.ts";
const LEDGER = "src/app/coin/evm/nonceLedger.ts";
const KEEPER_TEST = "src/app/coin/evm/nonceKeeper.test.ts";
const CHAIN_TEST = "src/app/coin/evm/evmSwapChain.test.ts";
const SWAPS = "test/sim/accountSwaps.test.ts";
const ATTACKS = "test/sim/accountAttacks.test.ts";
const MEDDLING = "test/sim/accountMeddling.test.ts";
const TROUBLE = "test/sim/accountTrouble.test.ts";
const PRUNED = "test/sim/accountPruned.test.ts";
const PUBLISH = "src/app/swap/duties/publish.ts";
const SENDING = "src/app/swap/duties/sending.ts";
const PAYMENT = "src/app/swap/duties/payment.ts";
const SWAP_STATE = "src/core/swap/swapState.ts";
const SWAP_STATE_TEST = "src/core/swap/swapState.test.ts";
const FOUND_GAS = "src/app/coin/evm/foundGas.ts";
const FOUND_GAS_TEST = "src/app/coin/evm/foundGas.test.ts";
const OBSTACLE_TEST = "src/app/coin/evm/claimObstacle.test.ts";
const FORGOTTEN_FEE = "test/sim/found/forgottenFee.test.ts";
const REFUSED_FEE = "test/sim/found/refusedFee.test.ts";
const GIVEN_UP = "test/sim/found/feeGivenUp.test.ts";
const IDLE = "src/app/swap/duties/idleSpends.ts";
const LINE = "test/sim/accountLine.test.ts";
const FUNDS_TEST = "src/app/swap/storedFunds.test.ts";

/** Swaps of coins of account chains after crashes, with logs put back, and between strangers. */
export const ACCOUNT_SWAPS: readonly PlantedBug[] = [
  bug(
    "a filler of what was given up is never sent dearer",
    "src/app/coin/evm/nonceLedger.ts",
    "const isFiller = to === signed.from && value === 0n && data.length === 0;",
    "const isFiller = false && to === signed.from && value === 0n && data.length === 0;",
    "src/app/coin/evm/nonceKeeper.test.ts",
  ),
  bug(
    "a fee that was given up keeps its filler from being paid",
    "src/app/coin/evm/nonceKeeper.ts",
    "fee - this.#countedAt(nonce) > funds.free(null)",
    "fee > funds.free(null)",
    "src/app/coin/evm/nonceKeeper.test.ts",
  ),
  bug(
    "a claim waits behind each transaction of a swap that is in no block, where nodes show nobody their pools",
    "src/app/coin/evm/evmSwapChain.ts",
    "this.#account.nonces.noteTaken(raw);",
    "return outcome;",
    OBSTACLE_TEST,
  ),
  bug(
    "a claim waits for ever behind a nonce that pools are said to have, because it is not signed yet",
    KEEPER,
    "...(isAwaited ? [pendingNonce] : [])",
    "...(isAwaited ? [] : [])",
    KEEPER_TEST,
  ),
  bug(
    "a claim is signed with a nonce that pools are said to have, before its filler is out",
    OBSTACLE,
    "unknown.length <= MOST_UNKNOWN && unknown.includes(own)",
    "unknown.length < 0",
    OBSTACLE_TEST,
  ),
  bug(
    "a secret is shown behind a dex fee that was given up",
    "src/app/coin/evm/claimObstacle.ts",
    "if (here.every(({ txid }) => nonces.isGivenUp(txid)))",
    "if (here.length > 9 && here.every(({ txid }) => nonces.isGivenUp(txid)))",
    "src/app/coin/evm/claimObstacle.test.ts",
  ),
  bug(
    "a claim that waits is reckoned by the gas of now",
    "src/app/coin/evm/evmSwapCoin.ts",
    "former === undefined ? 0n : this.#own(former).tx.gasLimit",
    "former === undefined ? 0n : 1n",
    "src/app/coin/evm/dataFees.test.ts",
  ),
  bug(
    "a swap whose facts cannot be stored wakes itself out of its own pause",
    OBSERVE,
    "if (!task.covered.has(chainOf(role, slot))) {",
    "if (task.covered !== null) {",
    SWAPS,
  ),
  bug(
    "after a restart what a log knows of an account chain is not asked for again",
    OBSERVE,
    '      if (coin.relayPolicy === "nonce")\n        await Promise.all(txidsOn(task, chainOf(role, slot)).map((txid) => coin.chain.watchTx(txid, from, signal)));\n',
    "",
    MEDDLING,
  ),
  bug(
    "a platform coin that is enabled before its tokens gives their stored transactions' nonces away",
    FUNDS,
    "    for (const { raws, refunds, claims } of this.#needs.values()) for (const raw of [...raws, ...refunds, ...claims]) coin.lockNonce?.(raw);\n",
    "",
    ATTACKS,
  ),
  bug(
    "a claim that no block took holds its nonce after its swap has ended",
    FORGET,
    '    if (tx && coin.relayPolicy === "nonce") for (const { raw } of versionsOf(tx)) coin.releaseInputs(fromHex(raw));\n',
    "",
    MEDDLING,
  ),
  bug(
    "a log that was put back pays again while the first payment waits for its block",
    TAKE_UP,
    "    if (unexplained !== null) throw new Error(unexplained);\n",
    "",
    MEDDLING,
  ),
  bug(
    "a payment is given up because the nodes are away for a moment",
    AWAIT,
    'error.kind !== "NotSufficientBalance" && error.kind !== "Transport"',
    'error.kind !== "NotSufficientBalance"',
    "src/app/swap/duties/awaitFunds.test.ts",
  ),
  bug(
    "a claim that is not signed yet has nobody move the line it would wait in",
    COIN,
    "    if (obstacle !== null) account.keeper.awaitLine();\n",
    "",
    MEDDLING,
  ),
  bug(
    "one transaction that ends many payments ends only the first of them",
    COIN,
    "this.chain.endedBy(txid).find(({ payment }) => payment === paymentTxid)?.kind",
    "this.chain.endedBy(txid).slice(0, 1).find(({ payment }) => payment === paymentTxid)?.kind",
    ATTACKS,
  ),
  bug("a payment that the contract has is lost once no node has its receipt", CHAIN, " || this.#hasPaid(txid)", "", CHAIN_TEST),
  bug(
    "a payment that only the contract shows is cancelled as too late",
    PUBLISH,
    " || coin.chain.unfound?.(coin.contractScript(contractOf(s, slot)))",
    "",
    TROUBLE,
  ),
  bug(
    "a swap that was put back fails while only the contract shows its payment",
    TAKE_UP,
    "const unexplained = hidden ?? coin.unexplained();",
    "const unexplained = coin.unexplained();",
    TROUBLE,
  ),
  bug(
    "the claim of a payment whose receipt no node has any more shows no secret",
    CHAIN,
    'payment.state !== "uninitialized" ? this.#madeBy(watched, payment) : null',
    'payment.state !== "uninitialized" ? this.#sentBy(payment) : null',
    CHAIN_TEST,
  ),
  bug(
    "a payment of this run whose receipt no node has any more shows no end",
    COIN,
    "    if (built.ok) this.chain.addStored(this.#own(built.value.raw));\n",
    "",
    "src/app/coin/evm/evmSwapBuilder.test.ts",
  ),
  bug(
    "a payment that never left stands for another of the same terms",
    COIN,
    "    this.chain.dropStored(txid);\n",
    "",
    "src/app/coin/evm/evmSwapBuilder.test.ts",
  ),
  bug(
    "a payment whose receipt no node has any more is not taken back",
    "src/app/swap/duties/claimAndRefund.ts",
    ' || coin.chain.unfound?.(script) === "unspent"',
    "",
    TROUBLE,
  ),
  bug(
    "a swap is lost though the contract holds the other payment, of which no node has the receipt any more",
    "src/app/swap/duties/paymentGone.ts",
    'return said === null || said === "refunded";',
    "return true;",
    "src/app/swap/duties/paymentGone.test.ts",
  ),
  bug(
    "a signed payment that its contract holds is looked for for ever, because no node shows it",
    TAKE_UP,
    "if (!found && s.own[slot] && coin.chain.unfound?.(script)) {",
    "if (found && s.own[slot] && coin.chain.unfound?.(script)) {",
    PRUNED,
  ),
  bug(
    "a payment that its contract holds is sent again, because no node shows it",
    SENDING,
    "if (slot === ownPayment(task.state.terms.role) && chain.unfound?.(coin.contractScript(contractOf(task.state, slot)))) return true;",
    "",
    PRUNED,
  ),
  bug(
    "a claim or refund that the contract has carried out is watched for ever, because no node shows it any more",
    CHAIN,
    "    if (told) {\n",
    "    if (told && txid.length < 64) {\n",
    PRUNED,
  ),
  bug(
    "an own transaction whose nonce is free stands for what the contract says",
    "src/app/coin/evm/evmSwapChain.ts",
    "return nonce !== undefined && nonce < (chain.account(address)?.nonce ?? 0n);",
    "return nonce !== undefined && chain.account(address) !== undefined;",
    CHAIN_TEST,
  ),
  bug(
    "a secret is shown for a token's payment that may have brought less, because no node shows it any more",
    CHAIN,
    "const isWhole = theirs?.isWhole || watched.token === ZERO_ADDRESS;",
    "const isWhole = true;",
    CHAIN_TEST,
  ),
  bug(
    "the other side's payment that the contract holds is not claimed, because no node shows it any more",
    OBSERVE,
    "if (slot === theirPayment(role)) remindOf(task, coin, slot);",
    "",
    PRUNED,
  ),
  bug(
    "an account with code shows a secret to nodes that refuse its claim, because another transaction waits",
    OBSTACLE,
    "if (payouts.hasCode && nonce < own)",
    "if (payouts.hasCode && nonce > own)",
    OBSTACLE_TEST,
  ),
  bug("a lost nonce is young again at every block", CHAIN, "    this.#lost.set(txid, { ...lost, block });\n", "", ATTACKS),
  bug(
    "a lost nonce is deep in a block that a reorganisation took",
    CHAIN,
    "const block = lost.block.height <= state.block.height ? lost.block : state.block;",
    "const { block } = lost;",
    CHAIN_TEST,
  ),
  bug(
    "a claim whose bytes no node can give hides its secret",
    CHAIN,
    "return this.#superseded(txid) ?? seen ?? this.#unreadable(txid);",
    "return this.#superseded(txid) ?? seen;",
    ATTACKS,
  ),
  bug(
    "a payment is signed at an absurd price of gas",
    TRADE_FUNDS,
    "if (price > MOST_PRICE) return",
    "if (price > MOST_PRICE * MOST_PRICE) return",
    ATTACKS,
  ),
  bug(
    "the tip of a payment is raised with its limit, and the next market with it",
    BIDS,
    "{ ...market, maxFeePerGas: max(ceiling, market.maxFeePerGas) }",
    "{ ...market, maxFeePerGas: max(ceiling, market.maxFeePerGas), maxPriorityFeePerGas: 2n * market.maxPriorityFeePerGas }",
    "src/app/coin/evm/swapBids.test.ts",
  ),
  bug(
    "the secret is shown behind a transaction that no block takes",
    OBSTACLE,
    "if (here.every(({ tx, txid }) => isStuck(tx, prices) || nonces.isGivenUp(txid)))",
    "if (here.length > 1 && here.every(({ tx, txid }) => isStuck(tx, prices) || nonces.isGivenUp(txid)))",
    "src/app/coin/evm/claimObstacle.test.ts",
  ),
  bug(
    "transactions are read anew at every look",
    READ,
    "    this.#read.set(parsed.value.txid, parsed.value);\n",
    "",
    "src/app/coin/evm/readTxs.test.ts",
  ),
  bug(
    "a claim on an account chain stays at its first price",
    VERSIONS,
    'coin.relayPolicy === "replace" || coin.relayPolicy === "nonce";',
    'coin.relayPolicy === "replace";',
    TROUBLE,
  ),
  bug(
    "a cancelled payment's nonce is not used, and the payment may still be mined",
    BUILDER,
    'gas: this.#deps.gasOf("cancel") }, least, payment);',
    'gas: this.#deps.gasOf("cancel") }, least, null);',
    MEDDLING,
  ),
  bug(
    "a payment that the chain would refuse is made",
    BUILDER,
    "if (!tried.ok) {",
    'if (!tried.ok && tried.error.kind === "Refused") {',
    "src/app/coin/evm/evmSwapBuilder.test.ts",
  ),
  bug(
    "a payment is tried without the coins it moves",
    BUILDER,
    "{ from: account.address, to: terms.contract, value, data: encodeSwapCall(paymentCall(terms)) },",
    "{ from: account.address, to: terms.contract, value: 0n, data: encodeSwapCall(paymentCall(terms)) },",
    "src/app/coin/evm/evmSwapBuilder.test.ts",
  ),
  bug(
    "a payment gets no more gas than the usual limit",
    BUILDER,
    "    if (needed > usual) this.#paymentGas.set(idText(terms), needed);\n",
    "",
    "src/app/coin/evm/evmSwapBuilder.test.ts",
  ),
  bug(
    "a swap that nothing could be held for pays with what others were promised",
    BUILDER,
    "return required <= free ? null :",
    "return required <= free + required ? null :",
    "src/app/coin/evm/evmSwapBuilder.test.ts",
  ),
  bug(
    "a swap that nothing could be held for pays any price",
    BUILDER,
    "if (priceOf(market) > MOST_PRICE)",
    "if (priceOf(market) > MOST_PRICE * MOST_PRICE)",
    "src/app/coin/evm/evmSwapBuilder.test.ts",
  ),
  bug(
    "a claim has no gas for what its data costs elsewhere",
    COIN,
    "if (beside !== null) this.needsDataGas(beside);\n",
    "if (beside !== null) this.needsDataGas(0n);\n",
    "test/sim/accountAttacks.test.ts",
  ),
  bug(
    "a claim is shown whatever its data costs elsewhere",
    COIN,
    "if (obstacle !== null || this.besideGas <= MOST_DATA_GAS) return",
    "if (obstacle !== null || this.besideGas >= 0n) return",
    "src/app/coin/evm/dataFees.test.ts",
  ),
  bug(
    "a claim that was signed with too little gas for its data is shown",
    COIN,
    "if (own && claim && this.lacksGas(claim))",
    "if (own && claim && own.tx.gasLimit < 0n)",
    "src/app/coin/evm/evmSwapBuilder.test.ts",
  ),
  bug(
    "a claim with too little gas for its data stays here until it is too late",
    PUBLISH,
    "if (slot === ownClaim(role)) await signAmply(task);",
    "",
    "test/sim/accountDataFees.test.ts",
  ),
  bug(
    "a claim that no gas is enough for is signed again and again, each time dearer",
    "src/app/swap/duties/signAmply.ts",
    " || coin.lacksGas(built.raw)",
    "",
    "test/sim/accountDataFees.test.ts",
  ),
  bug(
    "a refused claim is followed by its older version, which has too little gas",
    SENDING,
    " || (slot === ownClaim(role) && coin.lacksGas?.(fromHex(v.raw)))",
    "",
    "test/sim/accountDataFees.test.ts",
  ),
  bug(
    "what data costs elsewhere has no room to rise",
    "src/app/coin/evm/dataCost.ts",
    "DATA_ROOM = 2n;",
    "DATA_ROOM = 1n;",
    "src/app/coin/evm/dataCost.test.ts",
  ),
  bug(
    "a payment may burn any amount of gas",
    BUILDER,
    "if (needed > usual * MOST_GAS_FACTOR)",
    "if (needed < 0n && usual * MOST_GAS_FACTOR > 0n)",
    "src/app/coin/evm/evmSwapBuilder.test.ts",
  ),
  bug(
    "an approval below the market is left alone while swaps wait behind it",
    KEEPER,
    "      await this.#raise(head, signal);\n",
    "",
    KEEPER_TEST,
  ),
  bug(
    "the nonce of a fee that was given up is the next swap's",
    "src/app/swap/isSettled.ts",
    'return !known && coin.relayPolicy !== "nonce" && ',
    "return !known && ",
    GIVEN_UP,
  ),
  bug(
    "a refused fee keeps its nonce after its swap has failed",
    PUBLISH,
    'if (slot === "fee" && isFeeMoot(task.state)) coin.giveUp?.(raw, isRefused);',
    'if (slot === "fee" && isFeeMoot(task.state)) coin.giveUp?.(raw, false);',
    REFUSED_FEE,
  ),
  bug(
    "a refused fee keeps its nonce where a payment was sent behind it, and the payment never comes back",
    PUBLISH,
    'if (slot === "fee" && isFeeMoot(task.state)) coin',
    'if (slot === "fee" && task.state.finished === "failed") coin',
    REFUSED_FEE,
  ),
  bug(
    "a refused fee is given up while the maker may still go on",
    PUBLISH,
    'if (slot === "fee" && isFeeMoot(task.state)) coin',
    'if (slot === "fee") coin',
    REFUSED_FEE,
  ),
  bug(
    "a fee is moot as soon as a refund is decided, though the payment may still be claimed",
    SWAP_STATE,
    "s.finished !== null || s.own.cancel !== undefined ||",
    "s.finished !== null || s.refund !== null ||",
    SWAP_STATE_TEST,
  ),
  bug(
    "the refund of a payment waits behind a refused fee",
    SWAP_STATE,
    "s.own.cancel !== undefined || s.own[ownRefund(s.terms.role)] !== undefined ||",
    "s.own.cancel !== undefined ||",
    SWAP_STATE_TEST,
  ),
  bug(
    "the claim with a secret that is out waits behind a refused fee",
    SWAP_STATE,
    "s.own[ownRefund(s.terms.role)] !== undefined || s.secret !== null;",
    "s.own[ownRefund(s.terms.role)] !== undefined;",
    SWAP_STATE_TEST,
  ),
  bug("a payment is signed behind a fee that no node has", PAYMENT, "    feeInTheWay(task) ??\n", "", FORGOTTEN_FEE),
  bug(
    "a payment signed before a crash leaves behind a fee that no node has",
    PAYMENT,
    "(await theirPaymentUnsafe(task, signal)) ?? feeInTheWay(task);",
    "await theirPaymentUnsafe(task, signal);",
    FORGOTTEN_FEE,
  ),
  bug(
    "a failed swap's fee that pools keep and nobody mines holds up the account for ever",
    KEEPER,
    "here.some((tx) => tx.ofSwap && !isMoot(tx))",
    "here.some((tx) => tx.ofSwap)",
    KEEPER_TEST,
  ),
  bug(
    "a failed swap's fee that pools keep is replaced before its blocks have come",
    KEEPER,
    "isLow ? RAISE : HIDDEN",
    "RAISE",
    KEEPER_TEST,
  ),
  bug(
    "a failed swap's fee is paid at a higher price in place of nothing",
    KEEPER,
    "nonces.isMoot(head.txid) ? emptyTo(address) : tx;",
    "tx;",
    KEEPER_TEST,
  ),
  bug(
    "a failed swap's fee is replaced though nothing waits behind it",
    KEEPER,
    "waiting.filter((tx) => !isMoot(tx));",
    "waiting.filter(() => true);",
    KEEPER_TEST,
  ),
  bug(
    "the filler of what a pool keeps is refused as a stranger",
    LEDGER,
    "(this.isGivenUp(other.txid) || (this.isMoot(other.txid) && isDearer(signed.tx, other.tx)));",
    "this.isGivenUp(other.txid);",
    KEEPER_TEST,
  ),
  bug(
    "a hole is not filled while one of two nodes estimates no gas",
    KEEPER,
    "    if (!prices) return;\n    const gasLimit",
    "    if (!prices || !units.ok) return;\n    const gasLimit",
    KEEPER_TEST,
  ),
  bug(
    "a filler that nobody could estimate has no gas for its data",
    KEEPER,
    "units.ok ? units.value : PLAIN_GAS + dataBound(chain).gas;",
    "units.ok ? units.value : PLAIN_GAS;",
    KEEPER_TEST,
  ),
  bug(
    "the secret is shown behind a transaction that no node has",
    OBSTACLE,
    "if (nonce >= pendingNonce && !here.some(",
    "if (nonce > own && !here.some(",
    OBSTACLE_TEST,
  ),
  bug(
    "a claim waits because the nodes do not count their pools",
    LEDGER,
    "return chain.tx(txid) !== undefined || (takenAt",
    "return (takenAt",
    OBSTACLE_TEST,
  ),
  bug(
    "a claim waits for a whole block behind each approval",
    LEDGER,
    "chain.tx(txid) !== undefined || (takenAt !== null && takenAt === chain.account(address)?.block.hash);",
    "chain.tx(txid) !== undefined || (takenAt !== null && takenAt === address);",
    OBSTACLE_TEST,
  ),
  bug(
    "what nodes took once counts as out for ever",
    LEDGER,
    "(takenAt !== null && takenAt === chain.account(address)?.block.hash);",
    "(takenAt !== null && takenAt !== address);",
    OBSTACLE_TEST,
  ),
  bug(
    "gas that was found is forgotten because more was found before it",
    FOUND_GAS,
    ": [...greater, last];",
    ": greater.length > 0 ? greater : [last];",
    FOUND_GAS_TEST,
  ),
  bug(
    "gas that a token was once found to need counts for ever",
    FOUND_GAS,
    "this.#clock.nowMs() < untilMs);",
    "untilMs > 0);",
    FOUND_GAS_TEST,
  ),
  bug("ever lower figures push out what was found before them", FOUND_GAS, "{ ...last, gas: least.gas }", "last", FOUND_GAS_TEST),
  bug(
    "a secret is shown by a claim with less gas than its token needs by now",
    TRADE_FUNDS,
    "return (found > usual ? found : usual) + this.besideGas / DATA_ROOM;",
    "return (found < 0n ? found : usual) + this.besideGas / DATA_ROOM;",
    "src/app/coin/evm/dataFees.test.ts",
  ),
  bug(
    "whatever is signed next gets the nonce of what was given up",
    LEDGER,
    "!isFiller || !this.isGivenUp",
    "!this.isGivenUp",
    KEEPER_TEST,
  ),
  bug(
    "a nonce that was given up is filled though a pool has what was",
    LEDGER,
    "this.#givenUp.get(txid) === true && this.#deps.chain.tx(txid) === undefined",
    "this.#givenUp.get(txid) === true",
    KEEPER_TEST,
  ),
  bug(
    "a nonce that was given up is filled only when something waits behind it",
    KEEPER,
    "givenUp.includes(pendingNonce) || nonces",
    "nonces",
    KEEPER_TEST,
  ),
  bug(
    "a claim that stays here because its swap has decided so keeps its nonce for ever",
    IDLE,
    'if (!tx || coin.relayPolicy !== "nonce"',
    'if (!tx?.attempted || coin.relayPolicy !== "nonce"',
    LINE,
  ),
  bug(
    "a refund that nobody sends any more holds up the claim behind it",
    IDLE,
    "[ownClaim(role), ownRefund(role)]",
    "[ownClaim(role)]",
    LINE,
  ),
  bug(
    "a claim that a reorganisation has sent again stays given up",
    IDLE,
    "if (isSent) coin.takeBack?.(fromHex(raw));",
    "if (isSent) continue;",
    LINE,
  ),
  bug(
    "of a claim that is dropped only one version gives its nonce back",
    PUBLISH,
    "for (const { raw } of tx ? versionsOf(tx) : []) task.coin(chainOf(role, slot)).releaseInputs",
    "for (const { raw } of tx ? versionsOf(tx).slice(0, 1) : []) task.coin(chainOf(role, slot)).releaseInputs",
    LINE,
  ),
  bug(
    "what came too late to leave keeps its nonce while its swap waits for a coin",
    FUNDS,
    "if (hasGas) for (const [uuid, needs] of this.#needs)",
    "if (!hasGas) for (const [uuid, needs] of this.#needs)",
    FUNDS_TEST,
    LINE,
  ),
  bug(
    "what left while its swap ran gives its nonce back when it waits again",
    FUNDS,
    "if (this.#needs.get(uuid) === needs)",
    "if (this.#needs.has(uuid))",
    FUNDS_TEST,
  ),
  bug(
    "a clock that is set right has two transactions share a nonce",
    FUNDS,
    "(until + UNSENT_GRACE_SEC) * 1_000",
    "until * 1_000",
    FUNDS_TEST,
  ),
];

import { bug, type PlantedBug } from "./plantedBug.ts";

const RATIONAL = "src/core/money/rational.ts";
const RATIONAL_TEST = "src/core/money/rational.test.ts";
const FEE = "src/core/network/dexFee.ts";
const FEE_TEST = "src/core/network/networkProfile.test.ts";
const BUILD_TEST = "src/core/utxo/buildTx.test.ts";

/** Amounts, fees, fee rates and the transactions that carry them. */
export const MONEY: readonly PlantedBug[] = [
  bug(
    "an amount is rounded up to base units",
    RATIONAL,
    "return (a.n * 10n ** BigInt(decimals)) / a.d;",
    "return (a.n * 10n ** BigInt(decimals) + a.d - 1n) / a.d;",
    RATIONAL_TEST,
  ),
  bug(
    "fractions with two negative signs compare the wrong way",
    RATIONAL,
    "const positive = a.d < 0n === b.d < 0n;",
    "const positive = true;",
    RATIONAL_TEST,
  ),
  bug("the last shown digit is cut instead of rounded", RATIONAL, "(left * 2n >= d ? cut + 1n : cut)", "cut", RATIONAL_TEST),
  bug(
    "a decimal with a huge exponent is worked out",
    RATIONAL,
    "Math.abs(exponent) > MAX_EXPONENT",
    "Math.abs(exponent) > MAX_EXPONENT * 1_000",
    RATIONAL_TEST,
  ),
  bug(
    "a long denominator of a stranger is never cut",
    RATIONAL,
    "(a.d < LONG_DENOMINATOR ? a :",
    "(a.d < LONG_DENOMINATOR * LONG_DENOMINATOR * LONG_DENOMINATOR ? a :",
    RATIONAL_TEST,
  ),
  bug("the dex fee has no floor", FEE, "const least = max(dust, profile.dexFeeFloor);", "const least = dust;", FEE_TEST),
  bug("the dex fee may be dust", FEE, "const least = max(dust, profile.dexFeeFloor);", "const least = profile.dexFeeFloor;", FEE_TEST),
  bug(
    "the discount holds for the taker's coin only",
    FEE,
    "[takerTicker, makerTicker].includes(profile.dexFeeDiscountTicker)",
    "takerTicker === profile.dexFeeDiscountTicker",
    FEE_TEST,
  ),
  bug(
    "the burn is paid beside the whole fee",
    FEE,
    "return { fee, burn: sub(raw, fee) };",
    "return { fee: raw, burn: sub(raw, fee) };",
    FEE_TEST,
  ),
  bug("every coin burns a part of the fee", FEE, "if (profile.burnTicker !== takerTicker)", "if (profile.burnTicker === null)", FEE_TEST),
  bug(
    "a coin with value trades without a fee key, to the test key",
    FEE,
    "return isTestCoin ? ok",
    'return isTestCoin || coin !== "" ? ok',
    FEE_TEST,
  ),
  bug(
    "a started kilobyte is not charged where miners charge whole ones",
    "src/core/utxo/feeRate.ts",
    "((bytes + KB - 1n) / KB)",
    "(bytes / KB)",
    BUILD_TEST,
    "src/core/utxo/swapTx.test.ts",
    "src/app/coin/coinFees.test.ts",
  ),
  bug(
    "change below dust becomes an output",
    "src/core/utxo/buildTx.ts",
    "change >= args.dust ? change : 0n);",
    "change > 0n ? change : 0n);",
    BUILD_TEST,
  ),
  bug("an output below dust is built", "src/core/utxo/buildTx.ts", "o.value < args.dust);", "o.value < 0n);", BUILD_TEST),
  bug(
    "the fee is reckoned without the change output",
    "src/core/utxo/buildTx.ts",
    "const change = rest - cost.withChange;",
    "const change = rest - cost.plain;",
    BUILD_TEST,
  ),
  bug("outputs that cost more than they bring are spent", "src/core/utxo/buildTx.ts", "u.value > legacy ||", "u.value > 0n ||", BUILD_TEST),
  bug("a claim below dust is built", "src/core/utxo/htlcSpend.ts", "if (value < dust)", "if (value <= 0n)", "src/core/utxo/htlc.test.ts"),
  bug(
    "a fee rate below what nodes relay is used",
    "src/app/coin/coinFees.ts",
    "(perKb < floor ? floor : perKb)",
    "(perKb < 0n ? floor : perKb)",
    "src/app/coin/coinFees.test.ts",
  ),
  bug("the same margin is added at every stage", "src/app/coin/coinFees.ts", "order: 20n", "order: 10n", "src/app/coin/coinFees.test.ts"),
  bug(
    "an amount of a daemon with too many digits is rounded",
    "src/chainIndex/coinAmount.ts",
    'if (rest !== 0n && round === "exact")',
    'if (rest !== 0n && round !== "exact")',
    "src/chainIndex/coinAmount.test.ts",
  ),
  bug(
    "an amount a double cannot hold is believed",
    "src/chainIndex/coinAmount.ts",
    'if (typeof value === "number" && !isExactDouble(value, digits))',
    'if (typeof value === "string" && !isExactDouble(0, digits))',
    "src/chainIndex/coinAmount.test.ts",
  ),
  bug(
    "a request's big integer loses its last digits",
    "src/rpc/parseJson.ts",
    "return exact >= MIN_I64 && exact <= MAX_U64 ? exact : new JsonNumber(literal);",
    "return value;",
    "src/rpc/parseJson.test.ts",
    "test/rpc/numbers.test.ts",
  ),
  bug(
    "a request's decimal passes through a double",
    "src/rpc/parseJson.ts",
    "return new JsonNumber(literal);\n    if (Number.isSafeInteger(value))",
    "return new JsonNumber(String(value));\n    if (Number.isSafeInteger(value))",
    "test/rpc/numbers.test.ts",
  ),
  bug(
    "a withdrawal takes what swaps were promised",
    "src/app/coin/withdraw.ts",
    "if (spent - parts.change > free || !coin.ledger.leavesPromises(parts))",
    "if (spent - parts.change > unpromised + coin.ledger.promises.held())",
    "src/app/coin/utxoLedger.test.ts",
  ),
];

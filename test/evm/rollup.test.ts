import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../src/adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { createSystemClock } from "../../src/adapters/system/systemClock.ts";
import { createSystemRng } from "../../src/adapters/system/systemRng.ts";
import { checksumAddress } from "../../src/core/evm/address.ts";
import { decimal, toUnits } from "../../src/core/money/rational.ts";
import { openEvmChain } from "../../src/main/openEvmChain.ts";
import { type CoinNode, coinNode } from "../fakes/coinNode.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import { type Anvil, noAnvil, noAnvilReason, startAnvil } from "../support/anvil.ts";
import { chargeForData, OP_STACK_ARGS } from "../support/opStack.ts";
import { AnvilWorld } from "./support/anvilWorld.ts";

const SEED = "spice describe gravity federal blast come thank unfair canal monkey style afraid";
const OURS = "0xbAB36286672fbdc7B250804bf6D14Be0dF69fa29";
const ETHER = 10n ** 18n;
const GWEI = 10n ** 9n;
type Reply = { readonly [key: string]: unknown; readonly tx_hex?: string; readonly fee_details?: { readonly total_fee: string } };

/** The wallet on a chain that really takes a fee for data from the balance. */
describe.skipIf(noAnvil)(`withdrawals on a chain of the OP stack over anvil${noAnvilReason}`, () => {
  let anvil: Anvil;
  let node: CoinNode;
  let to: string;
  let paid: bigint;
  const db = openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]);
  const clock = createSystemClock();

  beforeAll(async () => {
    anvil = await startAnvil({ args: OP_STACK_ARGS });
    const world = new AnvilWorld(anvil);
    const contract = await world.deploySwapContract(world.party(0));
    to = checksumAddress(world.party(3).address);
    paid = await chargeForData((method, ...params) => anvil.call(method, params), 400n * GWEI);
    await anvil.call("anvil_setBalance", [OURS, `0x${ETHER.toString(16)}`]);
    const parts = {
      store: createAccountTxStore(db),
      openChain: async (chain: Parameters<typeof openEvmChain>[0]) =>
        openEvmChain({ ...chain, options: { leastMs: 1 } }, { clock, rng: createSystemRng(), log: new SilentLog() }),
    };
    const entry = { coin: "ETH", mm2: 1, protocol: { type: "ETH", protocol_data: { chain_id: 31_337 } } };
    node = await coinNode([entry], SEED, false, null, "spec", { parts, clock });
    const enabled = { urls: [anvil.url], swap_contract_address: checksumAddress(contract) };
    expect(await ask("enable", { coin: "ETH", ...enabled })).toMatchObject({ result: "success", balance: "1" });
  });
  afterAll(async () => {
    await anvil?.stop();
    await db.close();
  });
  const ask = async (method: string, params: Parameters<CoinNode["flat"]>[1]): Promise<Reply> =>
    (await node.flat(method, params)).reply as Reply;
  const left = async (): Promise<bigint> => BigInt(String(await anvil.call("eth_getBalance", [OURS, "latest"])));

  test("the chain takes what the oracle says, and puts no transaction of everything into a block that leaves nothing for it", async () => {
    expect(paid).toBeGreaterThan(10n ** 12n);
    const [from] = anvil.accounts;
    const balance = BigInt(String(await anvil.call("eth_getBalance", [from?.address, "latest"])));
    const gasPrice = 20n * GWEI;
    const value = `0x${(balance - 21_000n * gasPrice).toString(16)}`;
    const tx = { from: from?.address, to, value, gas: "0x5208", gasPrice: `0x${gasPrice.toString(16)}` };
    const txid = await anvil.call("eth_sendTransaction", [tx]);
    await anvil.call("evm_mine");
    expect(await anvil.call("eth_getTransactionReceipt", [txid])).toBeNull();
  });

  test("a withdrawal of everything is mined, and leaves no more than the data was feared to cost", async () => {
    const fee = { type: "EthGas", gas_price: "20", gas: 21_000 };
    const sent = await ask("withdraw", { coin: "ETH", to, max: true, fee, broadcast: true });
    expect(sent.error).toBeUndefined();
    const total = toUnits(decimal(sent.fee_details?.total_fee ?? "0"), 18);
    const beside = total - 21_000n * 20n * GWEI;
    expect(beside).toBe(((paid * 3n) / 2n) * 2n);
    for (let tries = 0; (await left()) === ETHER && tries < 1_000; tries++) await anvil.call("evm_mine");
    expect(await left()).toBeLessThan(beside);
    expect(await left()).toBeGreaterThan(0n);
  });
});

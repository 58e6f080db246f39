import { afterAll, beforeAll, expect, test } from "vitest";
import { add, decimal, toDecimalString } from "../../src/core/money/rational.ts";
import type { HttpServer } from "../../src/ports/http.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { send, serveRpc } from "../fakes/rpcServer.ts";

/** Every form of a number, as text over HTTP: nothing may be lost on the way to the field (reference rpc.md 3.1). */

let server: HttpServer;
beforeAll(async () => {
  server = await serveRpc(await fakeNode());
});
afterAll(() => server.close());

/** @param fields JSON text of the fields, written into the body as it is */
async function call(method: string, fields: string): Promise<{ status: number; reply: Record<string, unknown> }> {
  const { status, text } = await send(server, `{"userpass":"${PASSWORD}","method":"${method}",${fields}}`);
  return { status, reply: JSON.parse(text) };
}
type Placed = { readonly [field: string]: unknown };
const placed = async (method: string, fields: string): Promise<Placed> => {
  const { status, reply } = await call(method, `"base":"DOC","rel":"MARTY",${fields}`);
  expect([status, reply]).toMatchObject([200, {}]);
  return reply.result as Placed;
};

const LONG = "0.1234567890123456789012345678901234567890";
const FORMS: readonly (readonly [form: string, value: string])[] = [
  ["1", "1"],
  ["1.0", "1"],
  ["1e0", "1"],
  ["0.1", "0.1"],
  [`"0.1"`, "0.1"],
  ["1e-3", "0.001"],
  ["1.5E+1", "15"],
  ["10e-1", "1"],
  [LONG, LONG.slice(0, -1)],
  [`"${LONG}"`, LONG.slice(0, -1)],
  ["1.0000000000000000001", "1.0000000000000000001"],
  ["9007199254740993e-15", "9.007199254740993"],
  ["0.30000000000000004", "0.30000000000000004"],
  ["[[1,[1]],[1,[2]]]", "0.5"],
  ["[[-1,[1]],[-1,[2]]]", "0.5"],
  ["[[1,[0,1]],[1,[0,2]]]", "0.5"],
  ['{"numer":"1","denom":"8"}', "0.125"],
  ['{"numer":"-1","denom":"-8","more":1.5}', "0.125"],
];

test.each(FORMS)("%s is that price, volume and least volume", async (form, value) => {
  expect((await placed("setprice", `"price":${form},"volume":1`)).price).toBe(value);
  expect((await placed("setprice", `"price":1,"volume":${form}`)).max_base_vol).toBe(value);
  expect((await placed("setprice", `"price":1,"volume":100,"min_volume":${form}`)).min_base_vol).toBe(value);
  expect((await placed("sell", `"price":1,"volume":${form}`)).base_amount).toBe(value);
  expect((await placed("buy", `"price":1,"volume":100,"min_volume":${form}`)).min_volume).toBe(value);
});

test.each(FORMS)("%s is that new price and that change of a volume", async (form, value) => {
  const { uuid } = await placed("setprice", `"price":7,"volume":100`);
  const updated = await call("update_maker_order", `"uuid":"${uuid}","new_price":${form}`);
  expect([updated.status, updated.reply]).toMatchObject([200, { result: { price: value, max_base_vol: "100" } }]);
  const grown = await call("update_maker_order", `"uuid":"${uuid}","volume_delta":${form}`);
  const volume = toDecimalString(add(decimal("100"), decimal(value)));
  expect([grown.status, grown.reply]).toMatchObject([200, { result: { price: value, max_base_vol: volume } }]);
});

test.each([
  ["123456789012345678901234567890", "123456789012345678901234567890"],
  ["18446744073709551615", "18446744073709551615"],
  ["9007199254740993", "9007199254740993"],
  ["1e30", `1${"0".repeat(30)}`],
])("the big price %s is exact", async (form, value) => {
  expect((await placed("setprice", `"price":${form},"volume":1`)).price).toBe(value);
});

test.each(FORMS.filter(([form]) => !/[[{]/.test(form)))("%s is that amount of a withdrawal", async (form, value) => {
  const { reply } = await call("withdraw", `"coin":"DOC","to":"RAKpXNVtBvkabkhMvc1KETYY5E4MgzXZCR","amount":${form}`);
  const { reply: one } = await call("withdraw", `"coin":"DOC","to":"RAKpXNVtBvkabkhMvc1KETYY5E4MgzXZCR","amount":"${value}"`);
  expect(reply.my_balance_change).toMatch(/^-/);
  expect(reply).toEqual(one);
});

const REFUSED = "Could not deserialize any variant of MmNumber from ";
test.each([
  ["null", "null"],
  ["true", "true"],
  ['""', '""'],
  ['"0x1"', '"0x1"'],
  ['"1/3"', '"1/3"'],
  ["{}", "{}"],
  // Numbers of the text are told as they were written.
  ['{"numer":1.0,"denom":123456789012345678901234567890}', '{"numer":1.0,"denom":123456789012345678901234567890}'],
  ["[[1,[1.0]],[1,[1]]]", "[[1,[1.0]],[1,[1]]]"],
  ["[[1.0,[1]],[1,[1]]]", "[[1.0,[1]],[1,[1]]]"],
  ["[[1,[18446744073709551615]],[1,[1]]]", "[[1,[18446744073709551615]],[1,[1]]]"],
  ["[[1,[-0]],[1,[1]]]", "[[1,[-0]],[1,[1]]]"],
  ["1e-1001", "1e-1001"],
  ["1e-999999999", "1e-999999999"],
  ['"1e999999999"', '"1e999999999"'],
  [`0.${"1".repeat(1_000)}`, `0.${"1".repeat(198)}…`],
  [`"${"9".repeat(1_001)}"`, `"${"9".repeat(199)}…`],
])("%s is no number", async (form, raw) => {
  for (const [method, fields] of [
    ["setprice", `"price":${form},"volume":1`],
    ["setprice", `"price":1,"volume":${form}`],
    ["sell", `"price":1,"volume":${form}`],
  ] as const) {
    const { status, reply } = await call(method, `"base":"DOC","rel":"MARTY",${fields}`);
    expect([status, reply.error]).toEqual([500, `${REFUSED}${raw}`]);
  }
});

test.each(["1e400", "-1e309", "9".repeat(400), "1e999999999"])("%s breaks the body, as in KDF", async (form) => {
  const { status, reply } = await call("setprice", `"base":"DOC","rel":"MARTY","volume":1,"price":${form}`);
  expect([status, reply.error]).toEqual([500, expect.stringMatching(/^number out of range at line 1 column \d+$/)]);
});

test("a number of half a megabyte is refused at once", async () => {
  const started = process.hrtime.bigint();
  for (const digits of ["9".repeat(500_000), `0.${"1".repeat(500_000)}`, `1e-${"9".repeat(500_000)}`, `"${"9".repeat(500_000)}"`]) {
    expect((await call("sell", `"base":"DOC","rel":"MARTY","volume":1,"price":${digits}`)).status).toBe(500);
  }
  expect(Number(process.hrtime.bigint() - started) / 1e6).toBeLessThan(2_000);
});

test.each([
  ["my_recent_swaps", '"limit":1.0', "floating point `1.0`, expected usize"],
  ["my_recent_swaps", '"limit":1e0', "floating point `1.0`, expected usize"],
  ["my_recent_swaps", '"limit":1.5', "floating point `1.5`, expected usize"],
  ["my_recent_swaps", '"limit":-0', "floating point `-0.0`, expected usize"],
  ["my_recent_swaps", '"limit":1e-7', "floating point `0.0000001`, expected usize"],
  ["my_recent_swaps", '"page_number":1.0', "floating point `1.0`, expected a nonzero usize"],
  ["my_recent_swaps", '"page_number":"1"', 'string "1", expected a nonzero usize'],
  ["my_recent_swaps", '"from_timestamp":1.0', "floating point `1.0`, expected u64"],
  ["sell", '"base":1.5,"rel":"MARTY","price":1,"volume":1', "floating point `1.5`, expected a string"],
  ["sell", '"base":"DOC","rel":"MARTY","price":1,"volume":1,"timeout":30.0', "floating point `30.0`, expected u64"],
  [
    "sell",
    '"base":"DOC","rel":"MARTY","price":1,"volume":1,"match_by":1.5',
    "floating point `1.5`, expected adjacently tagged enum MatchBy",
  ],
  ["setprice", '"base":"DOC","rel":"MARTY","price":1,"volume":1,"base_confs":1.0', "floating point `1.0`, expected u64"],
  ["setprice", '"base":"DOC","rel":"MARTY","price":1,"volume":1,"timeout_in_minutes":1.0', "floating point `1.0`, expected u16"],
  ["withdraw", '"coin":"DOC","to":"R","fee":0.5', "floating point `0.5`, expected internally tagged enum WithdrawFee"],
])("%s: %s is a wrong type", async (method, fields, text) => {
  const { status, reply } = await call(method, fields);
  expect([status, reply.error]).toEqual([500, `invalid type: ${text}`]);
});

test.each([
  ['"limit":-1', "integer `-1`, expected usize"],
  ['"limit":18446744073709551615', "integer `18446744073709551615`, expected usize"],
  ['"page_number":0', "integer `0`, expected a nonzero usize"],
])("my_recent_swaps: %s is a wrong value", async (fields, text) => {
  expect((await call("my_recent_swaps", fields)).reply.error).toBe(`invalid value: ${text}`);
});

test.each([
  ["1.0", "invalid type: floating point `1.0`, expected usize"],
  ["-0", "invalid type: floating point `-0.0`, expected usize"],
  ["-1", "invalid value: integer `-1`, expected usize"],
  ["-9223372036854775808", "invalid value: integer `-9223372036854775808`, expected usize"],
  ["18446744073709551616", "invalid type: floating point `18446744073709551616.0`, expected usize"],
])("the request id %s is refused", async (id, detail) => {
  const { status, text } = await send(server, `{"userpass":"${PASSWORD}","mmrpc":"2.0","method":"get_my_peer_id","id":${id}}`);
  expect([status, JSON.parse(text)]).toMatchObject([400, { error_type: "InvalidRequest", error_data: detail, id: null }]);
});

test.each(["18446744073709551615", "9007199254740993", "0"])("the request id %s comes back as it was", async (id) => {
  const { status, text } = await send(server, `{"userpass":"${PASSWORD}","mmrpc":"2.0","method":"get_public_key","id":${id}}`);
  expect(status).toBe(200);
  expect(text.endsWith(`,"id":${id}}`)).toBe(true);
});

test.each(["1.5", "[]", '"x"', "true"])("params may not be %s", async (params) => {
  const body = `{"userpass":"${PASSWORD}","mmrpc":"2.0","method":"sign_message","params":${params},"id":1}`;
  const { status, text } = await send(server, body);
  expect([status, JSON.parse(text).error_type, JSON.parse(text).error_data]).toEqual([
    400,
    "InvalidRequest",
    expect.stringMatching(/^invalid type: .*, expected struct SignatureRequest$/),
  ]);
});

test("a body that is a number is refused, also inside a batch", async () => {
  for (const body of ["1.5", "1", "123456789012345678901234567890"])
    expect(JSON.parse((await send(server, body)).text).error).toMatch(/^a request is a JSON object/);
  expect(JSON.parse((await send(server, "[1.5]")).text)[0].error).toMatch(/found floating point `1.5`$/);
});

import { type CallForm, rpcSchemas } from "../../../scripts/rpcSchemas.ts";
import type { Pick } from "./fuzz.ts";
import { type Member, membersOf, ODD_KEYS, objectText, oneOf, valueText } from "./schemaValues.ts";

export type HttpRequest = {
  readonly verb: string;
  readonly path: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: Uint8Array | string;
};

const VERBS = ["GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "PROPFIND"];
const PATHS = ["/rpc", "/../../etc/passwd", "/%00", "/?a=1", "//", "/event-stream", "/event-stream?id=1", `/${"x".repeat(3_000)}`];
const HEADERS: readonly { readonly [name: string]: string }[] = [
  ...[{ host: "evil.example" }, { host: "127.0.0.1.evil.example:80" }, { host: "[::1]:1" }, { origin: "http://evil.example" }],
  ...[{ origin: "null" }, { origin: "http://localhost:3000" }, { "content-type": "text/plain" }, { "content-type": "multipart/form-data" }],
  ...[{ "content-encoding": "gzip" }, { "transfer-encoding": "chunked" }, { expect: "100-continue" }, { "x-forwarded-for": "8.8.8.8" }],
  ...[{ cookie: "a".repeat(10_000) }, { "x-big": "b".repeat(20_000) }, { authorization: "Basic OjA=" }],
];

/** Requests for every declared call form: valid, nearly valid and hostile, as the schemas of the declarations have it. */
export function rpcRequests(pick: Pick, password: string): () => HttpRequest {
  const { forms, shapes } = rpcSchemas();
  const call = (): string => {
    const form = oneOf(pick, forms);
    const strange = oneOf(pick, [0, 0, 1, 3]);
    return objectText(shuffled(membersOfCall(form, strange), pick, strange));
  };
  const membersOfCall = (form: CallForm, strange: number): Member[] => {
    const inherited = pick(24) < strange;
    const head: Member[] = [
      ["userpass", userpass(strange)],
      ["method", inherited ? `"${oneOf(pick, ODD_KEYS)}"` : JSON.stringify(form.method.name)],
    ];
    // A flat body of a versioned method is tried again as a versioned one; the other way round it is refused.
    const style = pick(32) < strange ? oneOf(pick, ["flat", "v2"]) : form.style;
    if (style === "flat") return [...head, ...membersOf(form.params, pick, strange, shapes)];
    return [
      ...head,
      ["mmrpc", pick(32) < strange ? valueText({}, pick, 16, shapes) : '"2.0"'],
      ["params", valueText(form.params, pick, strange, shapes)],
      ...(pick(2) === 0 ? [["id", pick(16) < strange ? valueText({}, pick, 16, shapes) : String(pick(1_000))] as const] : []),
    ];
  };
  const userpass = (strange: number): string => {
    if (strange === 0 || pick(48) > 0) return JSON.stringify(password);
    return oneOf(pick, ['"wrong"', "null", "1", '""', '{"__proto__":1}']);
  };
  const bodyText = (): string => {
    if (pick(16) > 0) return call();
    return oneOf(pick, [
      () => `[${Array.from({ length: pick(6) }, call).join(",")}]`,
      () => `[${call()},null,${valueText({}, pick, 16, shapes)}]`,
      () => `[${"null,".repeat(600)}null]`,
      () => valueText({}, pick, 16, shapes),
      () => "",
    ])();
  };
  return () => {
    const whole = bodyText();
    const body = pick(12) > 0 ? whole : broken(whole, pick);
    if (pick(24) > 0) return { verb: "POST", path: "/", headers: {}, body };
    const verb = pick(3) > 0 ? "POST" : oneOf(pick, VERBS);
    const path = pick(2) > 0 ? "/" : oneOf(pick, PATHS);
    // Headers too large to be read are refused before the verb is known, with a body that a HEAD has no room for.
    return { verb, path, headers: verb === "HEAD" || pick(2) === 0 ? {} : oneOf(pick, HEADERS), body };
  };
}

function shuffled(members: Member[], pick: Pick, strange: number): readonly Member[] {
  if (pick(16) < strange) members.reverse();
  return members;
}

/** Bytes that are no JSON, often no UTF-8 either. */
function broken(text: string, pick: Pick): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  if (pick(2) === 0) return bytes.slice(0, pick(bytes.length + 1));
  for (let i = pick(4); i >= 0 && bytes.length > 0; i--) bytes[pick(bytes.length)] = pick(256);
  return bytes;
}

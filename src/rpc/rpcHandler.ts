import type { HttpHandler } from "../ports/http.ts";
import type { Dispatcher } from "./dispatch.ts";
import { flatError } from "./envelope.ts";
import { parseJson } from "./parseJson.ts";

/** One HTTP request to one reply. The body is parsed before the verb is looked at, as clients of KDF see it (reference rpc.md 1.2). */
export function createRpcHandler(dispatcher: Dispatcher): HttpHandler {
  return async ({ verb, body, remoteAddress }) => {
    const parsed = parseJson(body);
    if (!parsed.ok) return flatError(parsed.error.text);
    if (verb !== "POST") return flatError("Only POST requests are supported!");
    return dispatcher.answer(parsed.value, remoteAddress);
  };
}

import { expect, test } from "vitest";
import { socketFaultText, tooLateText } from "./socketFault.ts";

test.each([
  ["ECONNREFUSED", "nothing listens there"],
  ["ENOTFOUND", "there is no such host"],
  ["EAI_AGAIN", "its name cannot be looked up now"],
  ["ETIMEDOUT", "it does not answer"],
  ["EHOSTUNREACH", "no way leads to it"],
  ["ECONNRESET", "it broke the connection off"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "it does not speak TLS at this port"],
  ["HPE_INVALID_CONSTANT", "it does not speak WebSocket at this port"],
])("%s is a sentence that says what to do, with the code for who looks it up", (code, said) => {
  const text = socketFaultText(code);
  expect(text).toContain(said);
  expect(text.endsWith(` (${code})`)).toBe(true);
});

test("what is a sentence stays one, also of an object's own names", () => {
  expect(socketFaultText("it closed the connection")).toBe("it closed the connection");
  expect(socketFaultText("constructor")).toBe("constructor");
  expect(tooLateText(10_000)).toBe("no connection within 10 s: it is down, or a firewall is in between");
});

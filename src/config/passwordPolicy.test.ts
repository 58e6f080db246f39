import { expect, test } from "vitest";
import { passwordProblem, rpcPasswordProblem } from "./passwordPolicy.ts";

test.each([
  ["xxPassWordxx1*", "Password can't contain the word password"],
  ["pAssword", "Password can't contain the word password"],
  ["Aa1*", "Password length should be at least 8 characters long"],
  ["aaaBBB***", "Password should contain at least 1 digit"],
  ["AAA111***", "Password should contain at least 1 lowercase character"],
  ["aaa111***", "Password should contain at least 1 uppercase character"],
  ["aaaAAA111", "Password should contain at least 1 special character"],
  ["StrongPaass123***", "Password can't contain the same character 3 times in a row"],
  ["Zażółć 1 gęślą 😀😀😀", "Password can't contain the same character 3 times in a row"],
])("%s is refused: %s", (password, text) => {
  expect(passwordProblem(password)).toBe(text);
});

test.each(["StrongPass123*", "SecretPassSoStrong*!1234567891012", "Ab1 cdefgh", "żA1bcdef"])("%s passes", (password) => {
  expect(passwordProblem(password)).toBeNull();
});

test("the word is looked for first, as KDF does", () => {
  expect(passwordProblem("password")).toBe("Password can't contain the word password");
});

test("type and emptiness come before the policy, also where weak passwords are allowed", () => {
  expect(rpcPasswordProblem(123, false)).toBe("rpc_password must be string");
  expect(rpcPasswordProblem("", true)).toBe("rpc_password must not be empty");
  expect(rpcPasswordProblem(undefined, true)).toContain("rpc_password must be set");
  expect(rpcPasswordProblem("weak", true)).toBeNull();
  expect(rpcPasswordProblem("weak", false)).toBe("rpc_password: Password length should be at least 8 characters long");
});

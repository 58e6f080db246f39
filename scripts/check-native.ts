import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { nativeProblems, type PackageFacts } from "./nativePackages.ts";
import { finish, ROOT } from "./sourceFiles.ts";

// Every installed package with machine code or an install script must be one that was accepted.

type LockEntry = {
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
};

const isLock = (value: unknown): value is { readonly packages: { readonly [path: string]: LockEntry } } =>
  typeof value === "object" && value !== null && "packages" in value && typeof value.packages === "object";

const lock: unknown = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
if (!isLock(lock)) throw new Error("package-lock.json has no packages");

function hasMachineCode(folder: string): boolean {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.some((name) => /\.(?:node|so|dylib|dll|exe)$|(?:^|\/)binding\.gyp$/.test(name));
}

const packages: PackageFacts[] = [];
for (const [path, entry] of Object.entries(lock.packages)) {
  const folder = join(ROOT, path);
  if (!path.startsWith("node_modules/") || !existsSync(folder)) continue;
  packages.push({
    name: path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
    installScript: entry.hasInstallScript === true,
    machineCode: entry.cpu !== undefined || hasMachineCode(folder),
    development: entry.dev === true,
  });
}
finish("native", nativeProblems(packages), `${packages.length} packages`);

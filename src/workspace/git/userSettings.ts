import { homedir } from "node:os";
import { join } from "node:path";
import type { GitRepository } from "./GitRepository.ts";

/**
 * Returns the settings of a repository and its user. The first and the last part of a key are in lower case.
 *
 * @throws GitError
 */
export async function userSettings(repository: GitRepository): Promise<ReadonlyMap<string, string>> {
  const { output } = await repository.userSettings();
  const fields = output.toString().split("\0");
  const settings = new Map<string, string>();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    // Settings of this library have the scope of the command line.
    if (fields[at] === "command") continue;
    const [key, value] = settingIn(fields[at + 1] ?? "");
    settings.set(key, value);
  }
  return settings;
}

/** Parses a setting in the format of `git config --list -z`. A setting without a value is `true`. */
export function settingIn(text: string): readonly [key: string, value: string] {
  const end = text.indexOf("\n");
  return end < 0 ? [text, "true"] : [text.slice(0, end), text.slice(end + 1)];
}

/** @param fallback the value of a missing setting */
export function isOn(settings: ReadonlyMap<string, string>, key: string, fallback: boolean): boolean {
  const value = settings.get(key);
  return value === undefined ? fallback : !["false", "no", "off", "0", ""].includes(value.toLowerCase());
}

export function excludesFile(settings: ReadonlyMap<string, string>): string {
  const file = settings.get("core.excludesfile");
  if (file !== undefined) return file.startsWith("~/") ? join(homedir(), file.slice(2)) : file;
  return join(process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "git", "ignore");
}

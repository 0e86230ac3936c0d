import { expect, it, vi } from "vitest";
import { folderWithin } from "../../../src/workspace/files/relativePath.ts";

vi.mock("node:path", () => import("node:path/win32"));

it.each([
  ["D:\\storage", undefined],
  ["C:\\other", undefined],
  ["C:\\work\\one\\two", "one/two"],
  ["C:\\work", ""],
])("on Windows, a directory on another drive is outside of a root: %s", (folder, within) => {
  expect(folderWithin("C:\\work", folder)).toBe(within);
});

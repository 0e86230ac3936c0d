export declare function withRelease(
  changelog: string,
  release: { readonly version: string; readonly date: string; readonly subjects: readonly string[] },
): string;
export declare function sectionOf(changelog: string, version: string): string | undefined;

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The key of objects that store a typed value, such as a date. A user's object with this key becomes `plain`. */
export const tag = "$";

/** The stored form of a value that JSON cannot express, such as a date. */
export type Tagged = { readonly [tag]: string; readonly v?: Json; readonly f?: Json };

export function isTagged(json: Json): json is Tagged {
  return typeof json === "object" && json !== null && !Array.isArray(json) && Object.hasOwn(json, tag);
}

/** The declaration of a setting. The files beside this one declare the settings, one file for each subject. */
export interface Setting<T> {
  /** The variable of the environment. */
  readonly env: string;
  /** The default, as an operator would write it. */
  readonly fallback: string;
  /** For the reference: one or two sentences. */
  readonly doc: string;
  /** Whether messages hide the value. */
  readonly isSecret?: boolean;
  /** Documents a default that depends on other settings. */
  readonly fallbackDoc?: string;
  /** @throws Error whose message continues "must be …" */
  parse(text: string): T;
}

/** Settings by the names of their values in `Config`. */
export type SettingGroup = Readonly<Record<string, Setting<unknown>>>;

export type ValuesOf<Group extends SettingGroup> = { readonly [Name in keyof Group]: ReturnType<Group[Name]["parse"]> };

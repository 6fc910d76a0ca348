"""Codes 6xx: files, settings and arguments that commands cannot take."""

from __future__ import annotations

from ghcm.codes.kind import Kind

COMMANDS = (
    Kind("GHCM-601", "a file of another kind than the command takes", "Programs end in .istream or .py."),
    Kind("GHCM-602", "a program that is not there or cannot be read", "Give the path of its file."),
    Kind("GHCM-603", "a name that a program or record cannot have", "Write ASCII letters, digits and _."),
    Kind("GHCM-604", "a file that is there already", "Choose another name; nothing is overwritten."),
    Kind("GHCM-605", "arguments that say too little or contradict each other", "See the command's --help."),
    Kind("GHCM-606", "a program that has run before and would write twice", "Say --resume or --fresh."),
    Kind("GHCM-607", "a job that cannot be resumed", "Undo the change, or begin with --fresh."),
    Kind("GHCM-608", "a change that a running program cannot take", "Stop its job and submit it anew."),
    Kind("GHCM-609", "an address of a server that is none", "Write redis://host:port/number."),
    Kind("GHCM-610", "a bundle that cannot be opened", "Build it again with ghcm build."),
    Kind("GHCM-611", "a unit that the bundle or the engine does not have", "Take one of those that are named."),
    Kind("GHCM-612", "a Python module of the program that cannot be imported", "Mend it, or install what it needs."),
    Kind("GHCM-613", "packages that the bundle needs and that are missing", "Install them where it runs."),
    Kind("GHCM-614", "generated code that does not fit this GHCM", "Build the bundle again with this version."),
    Kind("GHCM-615", "a bundle that cannot be written", "Choose a path that can be written."),
    Kind("GHCM-616", "a cache that bundles cannot be unpacked into", "Set its folder to one that can be written."),
    Kind("GHCM-617", "a format of files that does not exist", "Take one of those that are named."),
    Kind("GHCM-618", "a file in which there is no record to infer", "Read it as text."),
    Kind("GHCM-620", "a board that cannot be shown", "Correct the line of the .watch.toml file that is named."),
    Kind("GHCM-621", "settings that cannot be read or have no such value", "Correct the settings that are listed."),
    Kind("GHCM-622", "parameters of a call that its unit does not have", "Write name=value, as ghcm call shows them."),
    Kind("GHCM-623", "a name that the reference does not have", "Take the name that is suggested."),
)

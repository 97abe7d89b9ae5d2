"""PTX text to a `Module`, by recursive descent."""

from __future__ import annotations

import re
from functools import lru_cache

from .declarations import SPACES
from .instructions import Instructions
from .ptx import TYPES, Function, Location, Module, Variable

_LINKING = (".extern", ".visible", ".weak", ".common")
_COUNTED = {
    ".maxntid": "maxntid",
    ".reqntid": "reqntid",
    ".maxnreg": "maxnreg",
    ".minnctapersm": "minnctapersm",
    ".maxnctapersm": "minnctapersm",
}
_FLAGS = (".noreturn", ".abi_preserve", ".blocksareclusters")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_CLUSTER = (".explicitcluster", ".reqnctapercluster", ".maxclusterrank")


@lru_cache(maxsize=4)
def parse(text: str) -> Module:
    """Read a PTX module, which nobody changes. Raises EmulatorError with the line of what it cannot read."""
    return _Parser(text).module()


class _Parser(Instructions):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.files = {int(number): file for number, file in _FILE.findall(text)}
        self.out = Module()

    # -- modules -------------------------------------------------------------------------------

    def module(self) -> Module:
        while self.token.kind != "end":
            self.top()
        return self.out

    def top(self) -> None:
        word = self.token.text
        if self.accept(".version"):
            major, _, minor = self.take().text.partition(".")
            self.out.version = (int(major), int(minor or 0))
        elif self.accept(".target"):
            self.out.target = self.word()
            while self.accept(","):
                self.word()
        elif self.accept(".address_size"):
            if self.integer() != 64:
                raise self.error("addresses of 32 bits are not supported")
        elif self.accept(".file"):
            self.integer()
            self.take()
            while self.accept(","):
                self.take()
        elif self.accept(".section"):
            self.skip_to("{")
            self.skip_to("}")
        elif self.accept(".pragma"):
            self.skip_to(";")
        elif self.accept(".alias"):
            alias = self.word()
            self.expect(",")
            self.out.functions[alias] = self.out.functions[self.word()]
            self.expect(";")
        elif word in (*_LINKING, ".entry", ".func", *SPACES):
            self.linked()
        elif not self.accept(";"):
            raise self.error(f"{word!r} is not a directive of a module")

    def linked(self) -> None:
        external = False
        while self.token.text in _LINKING:
            external |= self.take().text == ".extern"
        if self.token.text in (".entry", ".func"):
            self.function()
            return
        for variable in self.variables(self.word(), external):
            known = self.out.variables.get(variable.name)
            if known is None or known.external:
                self.out.variables[variable.name] = variable
        self.expect(";")

    # -- functions -----------------------------------------------------------------------------

    def function(self) -> None:
        line = self.line
        entry = self.word() == ".entry"
        returns: list[Variable] = []
        while self.token.text in (".noreturn", ".attribute"):
            if self.take().text == ".attribute":
                self.skip_to(")")
        if not entry and self.accept("("):
            returns = self.parameters()
        function = Function(self.word(), entry, [], returns, line)
        if self.accept("("):
            function.params = self.parameters()
        self.directives(function)
        known = self.out.functions.get(function.name)
        if known is None or not known.body:
            self.out.functions[function.name] = function
        if self.accept(";"):
            return
        function.body = True
        for parameter in (*function.params, *returns):
            if parameter.space == "reg":
                function.registers[parameter.name] = parameter.type
            else:
                function.variables[parameter.name] = parameter
        self.scopes = []
        self.location = None
        self.block(function, -1)

    def parameters(self) -> list[Variable]:
        found: list[Variable] = []
        while not self.accept(")"):
            found += self.variables(self.word())
            self.accept(",")
        return found

    def directives(self, function: Function) -> None:
        while self.token.text.startswith("."):
            word = self.word()
            if word in _COUNTED:
                sizes = [self.integer()]
                while self.accept(","):
                    sizes.append(self.integer())
                function.directives[_COUNTED[word]] = tuple(sizes)
            elif word in _CLUSTER:
                sizes = [self.integer()] if self.token.kind == "number" else []
                while self.accept(","):
                    sizes.append(self.integer())
                function.directives[word[1:]] = tuple(sizes)
            elif word == ".pragma":
                self.skip_to(";")
            elif word not in _FLAGS:
                raise self.error(f"{word!r} is not a directive of a function")

    def block(self, function: Function, parent: int) -> None:
        """Statements in braces, with the names that they declare."""
        self.expect("{")
        scope = 0 if parent < 0 else len(function.parents)
        if parent >= 0:
            function.parents.append(parent)
        self.scopes.append({})
        while not self.accept("}"):
            self.statement(function, scope)
        self.scopes.pop()

    def statement(self, function: Function, scope: int) -> None:
        plain = self.plain(scope)
        if plain is not None:
            function.code.append(plain)
            return
        word = self.token.text
        if word == "{":
            self.block(function, scope)
        elif word == ".loc":
            self.loc()
        elif word == ".reg":
            self.registers(function)
        elif word in SPACES or word in _LINKING:
            external = False
            while self.token.text in _LINKING:
                external |= self.take().text == ".extern"
            for variable in self.variables(self.word(), external):
                variable.name = self.declare(function, variable.name)
                function.variables[variable.name] = variable
            self.expect(";")
        elif word == ".pragma":
            self.skip_to(";")
        elif not self.accept(";"):
            if self.ahead().text == ":":
                self.label(function, scope)
            else:
                function.code.append(self.instruction(scope))

    def label(self, function: Function, scope: int) -> None:
        name = self.word()
        self.expect(":")
        if self.token.text == ".branchtargets":
            self.word()
            listed = [self.word()]
            while self.accept(","):
                listed.append(self.word())
            self.expect(";")
            function.targets[scope, name] = tuple(listed)
        elif self.token.text in (".callprototype", ".calltargets"):
            self.skip_to(";")
        else:
            function.labels[scope, name] = len(function.code)

    def declare(self, function: Function, name: str) -> str:
        """The name under which a declaration is kept: a new one where inner braces hide an older one."""
        unique, number = name, 1
        while unique in function.registers or unique in function.variables:
            unique, number = f"{name}#{number}", number + 1
        if number > 1:
            self.scopes[-1][name] = unique
        return unique

    def registers(self, function: Function) -> None:
        self.word()
        kind = self.word()
        if kind[1:] not in TYPES:
            raise self.error(f"registers of {kind!r} are not supported")
        while True:
            name = self.word()
            if self.accept("<"):
                for number in range(self.integer()):
                    function.registers[self.declare(function, f"{name}{number}")] = TYPES[kind[1:]]
                self.expect(">")
            else:
                function.registers[self.declare(function, name)] = TYPES[kind[1:]]
            if not self.accept(","):
                break
        self.expect(";")

    def loc(self) -> None:
        self.word()
        file, line, column = self.integer(), self.integer(), self.integer()
        self.location = Location(self.files.get(file, f"file {file}"), line, column) if line else None
        while self.accept(","):
            self.word()
            while self.token.kind == "number" or self.token.text in ("+",) or self.token.text.startswith("$"):
                self.take()

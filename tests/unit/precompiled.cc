// Its precompiled headers are those of all unit tests.
int main() {}
